# DINO, 12 epochs on COCO. A config that uses it gives what models/dino.py asks for.
_base_ = [
    '../models/dino.py',
    '../datasets/coco_detection_ms.py',
    '../schedules/dino_12e.py',
    '../mmdet_runtime.py',
]

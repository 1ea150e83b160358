# RTMDet, 100 epochs on COCO. A config that uses it gives what models/rtmdet.py asks for.
_base_ = [
    '../models/rtmdet.py',
    '../datasets/coco_detection_mosaic.py',
    '../schedules/rtmdet_100e.py',
    '../mmdet_runtime.py',
]

# Mask2Former for instances, 50 epochs on COCO, logged and saved by iterations. A config that uses it gives what
# models/mask2former.py asks for.
_base_ = [
    '../models/mask2former.py',
    '../datasets/coco_instance_mask2former.py',
    '../schedules/mask2former_50e.py',
    '../mmdet_runtime.py',
]
default_hooks = dict(logger=dict(log_metric_by_epoch=False), checkpoint=dict(by_epoch=False, interval=5000))
log_processor = dict(by_epoch=False)

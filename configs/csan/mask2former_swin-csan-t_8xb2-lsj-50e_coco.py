# Mask2Former with Swin-CSaN-T for instances, 50 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask2former_swin-t-p4-w7-224_8xb2-lsj-50e_coco (AdamW, a tenth of the rate in the backbone); biases do not
#           decay here
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/mask2former_swin-csan-t_8xb2-lsj-50e_coco.py 8
_base_ = [
    '../_base_/models/mask2former.py',
    '../_base_/datasets/coco_instance_mask2former.py',
    '../_base_/schedules/mask2former_50e.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        drop_path_rate=0.3,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_tiny_patch4_window7_224.pth',
            source='ms-swin',
        ),
    ),
    panoptic_head=dict(in_channels=[96, 192, 384, 768]),
)
default_hooks = dict(logger=dict(log_metric_by_epoch=False), checkpoint=dict(by_epoch=False, interval=5000))
log_processor = dict(by_epoch=False)

# Mask2Former with Swin-CSaN-T for instances, 50 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask2former_swin-t-p4-w7-224_8xb2-lsj-50e_coco (AdamW, a tenth of the rate in the backbone); biases do not
#           decay here
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/mask2former_swin-csan-t_8xb2-lsj-50e_coco.py 8
_base_ = '../_base_/recipes/mask2former_8xb2-lsj-50e_coco.py'
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

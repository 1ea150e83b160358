# Mask2Former with MAViT-T for instances, 50 epochs on COCO.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   mmdet's mask2former_swin-t-p4-w7-224_8xb2-lsj-50e_coco (AdamW, a tenth of the rate in the backbone); biases do not
#           decay here
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/mask2former_mavit-t_8xb2-lsj-50e_coco.py 8
_base_ = '../_base_/recipes/mask2former_8xb2-lsj-50e_coco.py'
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='tiny',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_t.pth',
            source='mala',
        ),
    ),
    panoptic_head=dict(in_channels=[64, 128, 256, 512]),
)
sync_bn = 'torch'  # few images per GPU for the backbone's BN; see ../_base_/schedules/adamw_160k.py

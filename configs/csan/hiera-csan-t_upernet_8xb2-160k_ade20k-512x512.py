# UPerNet with Hiera-CSaN-T, 160,000 iterations on ADE20K.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmseg's swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512 (AdamW); the paper gives none
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here Meta's hiera_tiny_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/hiera-csan-t_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.HieraCSaN',
        arch='tiny',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/hiera_tiny_224.pth',
            source='meta-hiera',
        ),
    ),
    decode_head=dict(in_channels=[96, 192, 384, 768]),
    auxiliary_head=dict(in_channels=384),
)

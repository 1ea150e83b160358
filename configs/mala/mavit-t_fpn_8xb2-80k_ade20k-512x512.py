# Semantic FPN with MAViT-T, 80,000 iterations on ADE20K.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, everything decays; evaluated every 4,000 iterations)
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/mavit-t_fpn_8xb2-80k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/semantic-fpn.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_80k.py',
    '../_base_/mmseg_runtime.py',
]
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
    neck=dict(in_channels=[64, 128, 256, 512]),
)
default_hooks = dict(checkpoint=dict(interval=4000))  # as often as it is evaluated

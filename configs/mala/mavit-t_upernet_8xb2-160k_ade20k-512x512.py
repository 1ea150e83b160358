# UPerNet with MAViT-T, 160,000 iterations on ADE20K.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, norms do not decay, fp16; evaluated every 8,000 iterations, the best mIoU is kept)
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/mavit-t_upernet_8xb2-160k_ade20k-512x512.py 8 --amp
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
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
    decode_head=dict(in_channels=[64, 128, 256, 512]),
    auxiliary_head=dict(in_channels=256),
)
optim_wrapper = dict(paramwise_cfg=dict(_delete_=True, norm_decay_mult=0.0))  # the authors' biases decay
train_cfg = dict(val_interval=8000)
default_hooks = dict(checkpoint=dict(save_best='mIoU'))

# UPerNet with ViT-CSaN-S, 160,000 iterations on ADE20K.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmseg's vit_deit-s16_upernet_8xb2-160k_ade20k-512x512 (AdamW), with four maps resampled to a pyramid as MAE and BEiT
#           do
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here DeiT's deit_small_patch16_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/vit-csan-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.ViTCSaN',
        arch='small',
        drop_path_rate=0.1,
        img_size=512,
        out_type='pyramid',
        out_indices=(2, 5, 8, 11),
        final_norm=False,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/deit_small_patch16_224.pth',
            source='timm-vit',
        ),
    ),
    decode_head=dict(in_channels=[384, 384, 384, 384]),
    auxiliary_head=dict(in_channels=384),
)

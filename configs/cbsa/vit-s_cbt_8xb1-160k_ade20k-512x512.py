# As vit-t_cbt_8xb1-160k_ade20k-512x512.py, on ViT-S/16.
# Paper:    CBSA, NeurIPS 2025: 45.8 mIoU, single scale
# Measured: -
# Weights:  timm's vit_small_patch16_384.augreg_in21k_ft_in1k.safetensors
# Command:  tools/dist_train.sh configs/cbsa/vit-s_cbt_8xb1-160k_ade20k-512x512.py 8
_base_ = './vit-t_cbt_8xb1-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='small',
        init_cfg=dict(
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_small_patch16_384.augreg_in21k_ft_in1k.safetensors'
        ),
    ),
    decode_head=dict(in_channels=384),
)

# As vit-t_cbt_8xb1-160k_ade20k-512x512.py, on ViT-B/16; six layers by the paper's FLOPs.
# Paper:    CBSA, NeurIPS 2025: 49.3 mIoU, single scale
# Measured: -
# Weights:  timm's vit_base_patch16_384.augreg_in21k_ft_in1k.safetensors
# Command:  tools/dist_train.sh configs/cbsa/vit-b_cbt_8xb1-160k_ade20k-512x512.py 8
_base_ = './vit-t_cbt_8xb1-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='base',
        init_cfg=dict(
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_base_patch16_384.augreg_in21k_ft_in1k.safetensors'
        ),
    ),
    decode_head=dict(in_channels=768, num_layers=6),
)

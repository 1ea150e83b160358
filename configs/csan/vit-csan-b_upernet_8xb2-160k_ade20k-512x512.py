# As vit-csan-s_upernet_8xb2-160k_ade20k-512x512.py, with ViT-CSaN-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here DeiT's deit_base_patch16_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/vit-csan-b_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './vit-csan-s_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='base',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/deit_base_patch16_224.pth'),
    ),
    decode_head=dict(in_channels=[768, 768, 768, 768]),
    auxiliary_head=dict(in_channels=768),
)

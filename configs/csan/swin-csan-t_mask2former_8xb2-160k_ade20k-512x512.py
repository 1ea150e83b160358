# Mask2Former with Swin-CSaN-T, 160,000 iterations on ADE20K.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmseg's mask2former_swin-t_8xb2-160k_ade20k-512x512 (AdamW, a tenth of the rate in the backbone); biases do not decay
#           here
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/swin-csan-t_mask2former_8xb2-160k_ade20k-512x512.py 8
_base_ = '../_base_/recipes/mask2former_8xb2-160k_ade20k-512x512.py'
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
    decode_head=dict(in_channels=[96, 192, 384, 768]),
)

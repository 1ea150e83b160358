# As weightformer-s_upernet_8xb2-160k_ade20k-512x512.py, with DeiT-S.
# Paper:    WeightFormer, arXiv 2605.01711: 44.0 mIoU, 43M parameters, 157G FLOPs, 35G of them in the backbone
# Measured: - mIoU; the rest in README.md
# Weights:  DeiT's deit_small_patch16_224.pth in checkpoints/ or $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/weightformer/deit-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './weightformer-s_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        _delete_=True,
        type='csan_mm.ViTCSaN',
        arch='small',
        mixer='softmax',
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
)

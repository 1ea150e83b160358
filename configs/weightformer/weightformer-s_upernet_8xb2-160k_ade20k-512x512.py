# As weightformer-t_upernet_8xb2-160k_ade20k-512x512.py, with WeightFormer-S.
# Paper:    WeightFormer, arXiv 2605.01711: 45.6 mIoU, 47M parameters, 148G FLOPs, 27G of them in the backbone
# Measured: - mIoU; 46.8M parameters, 146.9 GMACs at 512 x 512, 25.6 of them in the backbone (README.md)
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/weightformer-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './weightformer-t_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='small',
        drop_path_rate=0.2,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-s.safetensors'),
    ),
    decode_head=dict(in_channels=[384, 384, 384, 384], channels=384),
    auxiliary_head=dict(in_channels=384),
)

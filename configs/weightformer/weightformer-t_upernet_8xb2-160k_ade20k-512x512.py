# UPerNet with WeightFormer-T, 160,000 iterations on ADE20K.
# Paper:    WeightFormer, arXiv 2605.01711: - (S only)
# Measured: -
# Recipe:   not published; BEiT's and DeiT's (AdamW 6e-5, a pyramid from four depths, heads as wide as the backbone), with the
#           clip of the ImageNet recipe
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-t) as weightformer-t.safetensors in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/weightformer/weightformer-t_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.WeightFormer',
        arch='tiny',
        out_type='pyramid',
        out_indices=(4, 8, 12, 16),
        norm_cfg=dict(type='LN', eps=1e-6),  # of the first three; the last one has the pretrained norm
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-t.safetensors',
            source='weightformer',
        ),
    ),
    decode_head=dict(in_channels=[192, 192, 192, 192], channels=192),
    auxiliary_head=dict(in_channels=192),
)
optim_wrapper = dict(clip_grad=dict(max_norm=5.0))

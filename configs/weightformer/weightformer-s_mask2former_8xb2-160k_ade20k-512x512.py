# Mask2Former with WeightFormer-S, 160,000 iterations on ADE20K.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   mmseg's mask2former_swin-t_8xb2-160k_ade20k-512x512 (AdamW, a tenth of the rate in the backbone); biases do not decay
#           here
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/weightformer-s_mask2former_8xb2-160k_ade20k-512x512.py 8
_base_ = '../_base_/recipes/mask2former_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        type='csan_mm.WeightFormer',
        arch='small',
        drop_path_rate=0.2,
        out_type='pyramid',
        out_indices=(4, 8, 12, 16),
        norm_cfg=dict(type='LN', eps=1e-6),  # of the first three; the last one has the pretrained norm
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-s.safetensors',
            source='weightformer',
        ),
    ),
    decode_head=dict(in_channels=[384, 384, 384, 384]),
)

# Mask2Former with WeightFormer-S for instances, 50 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   mmdet's mask2former_swin-t-p4-w7-224_8xb2-lsj-50e_coco (AdamW, a tenth of the rate in the backbone); biases do not
#           decay here
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/mask2former_weightformer-s_8xb2-lsj-50e_coco.py 8
_base_ = '../_base_/recipes/mask2former_8xb2-lsj-50e_coco.py'
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
    panoptic_head=dict(in_channels=[384, 384, 384, 384]),
)

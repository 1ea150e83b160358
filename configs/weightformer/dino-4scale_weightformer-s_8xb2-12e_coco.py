# DINO with WeightFormer-S, 12 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   mmdet's dino-5scale_swin-l_8xb2-12e_coco (AdamW, a tenth of the rate in the backbone), with four levels; norms and
#           biases do not decay here
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/dino-4scale_weightformer-s_8xb2-12e_coco.py 8
_base_ = '../_base_/recipes/dino-4scale_8xb2-12e_coco.py'
model = dict(
    backbone=dict(
        type='csan_mm.WeightFormer',
        arch='small',
        drop_path_rate=0.2,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-s.safetensors',
            source='weightformer',
        ),
    ),
    neck=dict(
        _delete_=True, type='csan_mm.SimpleFPN', in_channels=384, out_channels=256, num_outs=4, rescales=(2, 1, 0.5)
    ),
)

# RTMDet with WeightFormer-S, 100 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   mmdet's rtmdet_l_swin_b_4xb32-100e_coco (AdamW), over eight GPUs
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/rtmdet_weightformer-s_8xb16-100e_coco.py 8
_base_ = '../_base_/recipes/rtmdet_8xb16-100e_coco.py'
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
        _delete_=True, type='csan_mm.SimpleFPN', in_channels=384, out_channels=256, num_outs=3, rescales=(2, 1, 0.5)
    ),
)
optim_wrapper = dict(clip_grad=dict(max_norm=5.0))  # as in the ImageNet recipe

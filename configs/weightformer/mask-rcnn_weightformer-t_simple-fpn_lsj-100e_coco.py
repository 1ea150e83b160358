# Mask R-CNN with WeightFormer-T and the simple feature pyramid, 100 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   ours (the authors' is not published), after ViTDet's (Li et al., ECCV 2022): 1024 x 1024 large-scale jitter, layer
#           decay, 64 images per iteration, with the clip of the ImageNet recipe
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-t) as weightformer-t.safetensors in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/weightformer/mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = [
    '../_base_/models/vitdet_mask-rcnn.py',
    '../_base_/datasets/coco_instance_lsj.py',
    '../_base_/schedules/adamw_vitdet.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.WeightFormer',
        arch='tiny',
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-t.safetensors',
            source='weightformer',
        ),
    ),
    neck=dict(in_channels=192),
)
optim_wrapper = dict(clip_grad=dict(max_norm=5.0))

# Faster R-CNN with WeightFormer-S, 12 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW), without masks; biases do not decay here
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  tools/dist_train.sh configs/weightformer/faster-rcnn_weightformer-s_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/faster-rcnn.py',
    '../_base_/datasets/coco_detection.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
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
    neck=dict(_delete_=True, type='csan_mm.SimpleFPN', in_channels=384, out_channels=256, num_outs=5),
)
optim_wrapper = dict(clip_grad=dict(max_norm=5.0))  # as in the ImageNet recipe

# Mask R-CNN with MAViT-S, 36 epochs on COCO with multi-scale training.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, norms do not decay, fp16)
# Weights:  the authors' ImageNet file of MAViT-S (Hugging Face, aldjalkdf/MAViT) as mavit_s.pth in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/mala/mask-rcnn_mavit-s_fpn_ms-3x_coco.py 8 --amp
_base_ = [
    '../_base_/models/mask-rcnn_mavit-t.py',
    '../_base_/datasets/coco_instance_ms.py',
    '../_base_/schedules/mala_3x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        arch='small',
        drop_path_rate=0.15,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_s.pth'),
    ),
    neck=dict(in_channels=[64, 128, 320, 512]),
)

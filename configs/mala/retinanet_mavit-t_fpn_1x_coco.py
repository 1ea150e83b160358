# RetinaNet with MAViT-T, 12 epochs on COCO.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, all parameters decay, fp16)
# Weights:  the authors' ImageNet file of MAViT-T (Hugging Face, aldjalkdf/MAViT) as mavit_t.pth in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/mala/retinanet_mavit-t_fpn_1x_coco.py 8 --amp
_base_ = [
    '../_base_/models/retinanet.py',
    '../_base_/datasets/coco_detection.py',
    '../_base_/schedules/mala_1x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='tiny',
        drop_path_rate=0.1,
        out_indices=(1, 2, 3),
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_t.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[128, 256, 512]),
)
optim_wrapper = dict(paramwise_cfg=None, optimizer=dict(weight_decay=0.0001))  # here norms decay too

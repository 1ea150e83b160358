# Cascade Mask R-CNN with MAViT-S, 36 epochs on COCO with multi-scale training.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, norms do not decay, fp16; box heads of 4 convolutions and 1 layer with SyncBN, GIoU on
#           decoded boxes)
# Weights:  the authors' ImageNet file of MAViT-S (Hugging Face, aldjalkdf/MAViT) as mavit_s.pth in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/mala/cascade-mask-rcnn_mavit-s_fpn_ms-3x_coco.py 8 --amp
_base_ = [
    '../_base_/models/cascade-mask-rcnn_4conv.py',
    '../_base_/datasets/coco_instance_ms.py',
    '../_base_/schedules/mala_3x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='small',
        drop_path_rate=0.15,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_s.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[64, 128, 320, 512]),
    roi_head=dict(
        bbox_head=[
            dict(
                head,
                reg_class_agnostic=False,
                reg_decoded_bbox=True,
                norm_cfg=dict(type='BN', requires_grad=True),  # SyncBN under several processes
                loss_bbox=dict(type='GIoULoss', loss_weight=10.0),
            )
            for head in _base_.model.roi_head.bbox_head
        ],
    ),
)

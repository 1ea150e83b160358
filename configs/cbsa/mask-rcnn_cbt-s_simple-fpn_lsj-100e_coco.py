# Mask R-CNN with CBT-S and the simple feature pyramid, 100 epochs on COCO.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Recipe:   ours (the authors' is not published), after ViTDet's (Li et al., ECCV 2022): 1024 x 1024 large-scale jitter, layer
#           decay, 64 images per iteration
# Weights:  the authors' CBT-S (Google Drive, see their repository) as cbt_small.pth in checkpoints/ or $CSAN_MM_WEIGHTS; nothing
#           is downloaded
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/cbsa/mask-rcnn_cbt-s_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = [
    '../_base_/models/vitdet_mask-rcnn.py',
    '../_base_/datasets/coco_instance_lsj.py',
    '../_base_/schedules/adamw_vitdet.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.CBT',
        arch='small',
        legacy_pooling=True,
        img_size=1024,
        norm_eval=True,  # few images per GPU: the stem keeps the statistics of ImageNet
        init_cfg=dict(
            type='csan_mm.Pretrained', checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt_small.pth', source='cbsa'
        ),
    ),
    neck=dict(in_channels=384),
)

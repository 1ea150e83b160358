# Mask R-CNN with ViT-CSaN-S and the simple feature pyramid, 100 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   ViTDet's (Li et al., ECCV 2022): 1024 x 1024 large-scale jitter, layer decay; 64 images per iteration
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here DeiT's deit_small_patch16_224.pth, whose weights the plain part takes
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/csan/mask-rcnn_vit-csan-s_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = [
    '../_base_/models/vitdet_mask-rcnn.py',
    '../_base_/datasets/coco_instance_lsj.py',
    '../_base_/schedules/adamw_vitdet.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.ViTCSaN',
        arch='small',
        drop_path_rate=0.1,
        img_size=1024,
        with_cls_token=False,
        window_size=14,
        global_indices=(2, 5, 8, 11),
        final_norm=False,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/deit_small_patch16_224.pth',
            source='timm-vit',
        ),
    ),
    neck=dict(in_channels=384),
)

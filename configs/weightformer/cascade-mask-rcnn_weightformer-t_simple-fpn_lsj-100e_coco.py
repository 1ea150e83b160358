# Cascade Mask R-CNN with WeightFormer-T and the simple feature pyramid, 100 epochs on COCO.
# Paper:    WeightFormer, arXiv 2605.01711: 45.0 / 38.3 box / mask AP, 566G FLOPs, 77G of them in the backbone
# Measured: - AP; the FLOPs in README.md
# Recipe:   not published; ViTDet's (Li et al., ECCV 2022): 1024 x 1024 large-scale jitter, layer decay, 64 images per iteration,
#           with the clip of the ImageNet recipe
# Weights:  see mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py
# Command:  tools/dist_train.sh configs/weightformer/cascade-mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py 64
_base_ = [
    '../_base_/models/cascade-mask-rcnn.py',
    '../_base_/datasets/coco_instance_lsj.py',
    '../_base_/schedules/adamw_vitdet.py',
    '../_base_/mmdet_runtime.py',
]
norm_cfg = dict(type='csan_mm.LN2d', eps=1e-6)
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
    neck=dict(
        _delete_=True, type='csan_mm.SimpleFPN', in_channels=192, out_channels=256, num_outs=5, norm_cfg=norm_cfg
    ),
    rpn_head=dict(num_convs=2),
    roi_head=dict(
        bbox_head=[  # the list takes the place of the base's
            dict(
                type='Shared4Conv1FCBBoxHead',
                in_channels=256,
                conv_out_channels=256,
                fc_out_channels=1024,
                roi_feat_size=7,
                num_classes=80,
                bbox_coder=dict(
                    type='DeltaXYWHBBoxCoder', target_means=[0.0, 0.0, 0.0, 0.0], target_stds=[xy, xy, wh, wh]
                ),
                reg_class_agnostic=True,
                norm_cfg=norm_cfg,
                loss_cls=dict(type='CrossEntropyLoss', use_sigmoid=False, loss_weight=1.0),
                loss_bbox=dict(type='SmoothL1Loss', beta=1.0, loss_weight=1.0),
            )
            for xy, wh in [(0.1, 0.2), (0.05, 0.1), (0.033, 0.067)]
        ],
        mask_head=dict(norm_cfg=norm_cfg),
    ),
)
optim_wrapper = dict(clip_grad=dict(max_norm=5.0))

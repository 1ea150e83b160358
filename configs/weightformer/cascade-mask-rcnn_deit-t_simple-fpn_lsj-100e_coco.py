# As cascade-mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py, with DeiT-T in ViTDet's mode: windows in all but four blocks.
# Paper:    WeightFormer, arXiv 2605.01711: 44.4 / 38.1 box / mask AP, 594G FLOPs, 106G of them in the backbone
# Measured: - AP; the FLOPs in README.md
# Weights:  DeiT's deit_tiny_patch16_224.pth in checkpoints/ or $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/weightformer/cascade-mask-rcnn_deit-t_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = './cascade-mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py'
model = dict(
    backbone=dict(
        _delete_=True,
        type='csan_mm.ViTCSaN',
        arch='tiny',
        mixer='softmax',
        drop_path_rate=0.1,
        img_size=1024,
        with_cls_token=False,
        window_size=14,
        global_indices=(2, 5, 8, 11),
        final_norm=False,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/deit_tiny_patch16_224.pth',
            source='timm-vit',
        ),
    ),
)

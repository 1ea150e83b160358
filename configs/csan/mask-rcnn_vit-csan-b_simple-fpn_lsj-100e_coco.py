# As mask-rcnn_vit-csan-s_simple-fpn_lsj-100e_coco.py, with ViT-CSaN-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here DeiT's deit_base_patch16_224.pth, whose weights the plain part takes
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/csan/mask-rcnn_vit-csan-b_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = './mask-rcnn_vit-csan-s_simple-fpn_lsj-100e_coco.py'
model = dict(
    backbone=dict(
        arch='base',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/deit_base_patch16_224.pth'),
    ),
    neck=dict(in_channels=768),
)

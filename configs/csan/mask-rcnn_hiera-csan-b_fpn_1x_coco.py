# As mask-rcnn_hiera-csan-t_fpn_1x_coco.py, with Hiera-CSaN-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here Meta's hiera_base_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_hiera-csan-b_fpn_1x_coco.py 8
_base_ = './mask-rcnn_hiera-csan-t_fpn_1x_coco.py'
model = dict(
    backbone=dict(
        arch='base',
        drop_path_rate=0.3,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/hiera_base_224.pth'),
    )
)

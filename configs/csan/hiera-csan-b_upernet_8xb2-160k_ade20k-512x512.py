# As hiera-csan-t_upernet_8xb2-160k_ade20k-512x512.py, with Hiera-CSaN-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here Meta's hiera_base_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/hiera-csan-b_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './hiera-csan-t_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='base',
        drop_path_rate=0.3,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/hiera_base_224.pth'),
    )
)

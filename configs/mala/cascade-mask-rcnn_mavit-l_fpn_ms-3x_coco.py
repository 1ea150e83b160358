# As cascade-mask-rcnn_mavit-s_fpn_ms-3x_coco.py, with MAViT-L.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 56.0 box AP, 48.4 mask AP
# Measured: -
# Weights:  mavit_l.pth
# Command:  tools/dist_train.sh configs/mala/cascade-mask-rcnn_mavit-l_fpn_ms-3x_coco.py 8 --amp
_base_ = './cascade-mask-rcnn_mavit-s_fpn_ms-3x_coco.py'
model = dict(
    backbone=dict(
        arch='large',
        drop_path_rate=0.55,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_l.pth'),
    ),
    neck=dict(in_channels=[96, 192, 448, 640]),
)
# One image per GPU, half the rate.
train_dataloader = dict(batch_size=1)
optim_wrapper = dict(optimizer=dict(lr=0.0002))
auto_scale_lr = dict(base_batch_size=8)

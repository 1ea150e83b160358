# As mavit-t_upernet_8xb2-160k_ade20k-512x512.py, with MAViT-L.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 53.6 mIoU
# Measured: -
# Weights:  mavit_l.pth
# Command:  tools/dist_train.sh configs/mala/mavit-l_upernet_8xb1-160k_ade20k-512x512.py 8 --amp
_base_ = './mavit-t_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='large',
        drop_path_rate=0.55,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_l.pth'),
    ),
    decode_head=dict(in_channels=[96, 192, 448, 640]),
    auxiliary_head=dict(in_channels=448),
)
train_dataloader = dict(batch_size=1)
auto_scale_lr = dict(base_batch_size=8)

# As cbt-c128_1xb32-30e_digits-cls.py, with the small ViT that vit-c64_cbt_1xb8-3k_digits-128x128.py starts from.
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Command:  python tools/train.py configs/digits/vit-c64_1xb64-40e_digits-cls.py --cfg-options data_root=data/digits3000/imagenet/
_base_ = './cbt-c128_1xb32-30e_digits-cls.py'
model = dict(
    backbone=dict(
        _delete_=True,
        type='csan_mm.ViTCSaN',
        arch=dict(embed_dims=64, depth=4, num_heads=4),
        mixer='softmax',
        img_size=64,
        patch_size=8,
        out_type='avg_featmap',
    ),
    head=dict(in_channels=64),
)
train_dataloader = dict(batch_size=64)
train_cfg = dict(max_epochs=40)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=100),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=0, end=40, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=64)

# 80,000 iterations of AdamW with poly decay, as MAViT's authors train Semantic FPN; everything decays.
sync_bn = 'torch'  # see adamw_160k.py
train_cfg = dict(type='IterBasedTrainLoop', max_iters=80000, val_interval=4000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [dict(type='PolyLR', eta_min=1e-6, power=0.9, begin=0, end=80000, by_epoch=False)]
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=0.0001, weight_decay=0.0001))
auto_scale_lr = dict(enable=False, base_batch_size=16)  # 8 GPUs x 2 images

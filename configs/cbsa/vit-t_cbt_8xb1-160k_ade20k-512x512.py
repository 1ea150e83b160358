# The CBT decoder on ViT-T/16, 160,000 iterations on ADE20K.
# Paper:    CBSA, NeurIPS 2025: 39.1 mIoU, single scale
# Measured: -
# Recipe:   the authors' (SGD, 8 images, poly to 1e-5; tested in windows of 512 that overlap by 32)
# Weights:  timm's vit_tiny_patch16_384.augreg_in21k_ft_in1k.safetensors in checkpoints/ or $CSAN_MM_WEIGHTS; nothing is
#           downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-t_cbt_8xb1-160k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/cbt-decoder.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    data_preprocessor=dict(size=(512, 512)),
    backbone=dict(
        type='csan_mm.ViTCSaN',
        arch='tiny',
        mixer='softmax',
        img_size=512,
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_tiny_patch16_384.augreg_in21k_ft_in1k.safetensors',
            source='timm-vit',
        ),
    ),
    decode_head=dict(in_channels=192, num_classes=150, num_layers=3),
    test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(480, 480)),
)
train_dataloader = dict(batch_size=1)
param_scheduler = [dict(type='PolyLR', power=0.9, eta_min=1e-5, begin=0, end=160000, by_epoch=False)]
optim_wrapper = dict(
    _delete_=True, type='OptimWrapper', optimizer=dict(type='SGD', lr=0.001, momentum=0.9, weight_decay=0.0)
)
auto_scale_lr = dict(base_batch_size=8)

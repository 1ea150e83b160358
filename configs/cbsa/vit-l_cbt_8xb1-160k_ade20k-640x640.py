# As vit-t_cbt_8xb1-160k_ade20k-512x512.py, on ViT-L/16 with crops of 640; nine layers by the paper's FLOPs.
# Paper:    CBSA, NeurIPS 2025: 53.3 mIoU, single scale
# Measured: -
# Weights:  timm's vit_large_patch16_384.augreg_in21k_ft_in1k.safetensors
# Command:  tools/dist_train.sh configs/cbsa/vit-l_cbt_8xb1-160k_ade20k-640x640.py 8
_base_ = './vit-t_cbt_8xb1-160k_ade20k-512x512.py'
crop_size = (640, 640)
model = dict(
    data_preprocessor=dict(size=crop_size),
    backbone=dict(
        arch='large',
        img_size=640,
        init_cfg=dict(
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_large_patch16_384.augreg_in21k_ft_in1k.safetensors'
        ),
    ),
    decode_head=dict(in_channels=1024, num_layers=9),
    test_cfg=dict(crop_size=crop_size, stride=(608, 608)),
)
train_pipeline = _base_.train_pipeline
train_pipeline[2].update(scale=(2560, 640))  # RandomResize
train_pipeline[3].update(crop_size=crop_size)
test_pipeline = _base_.test_pipeline
test_pipeline[1].update(scale=(2560, 640))  # Resize
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

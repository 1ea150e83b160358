# ViT-B/16 pre-trained on ImageNet-21K and tuned on ImageNet-1K, fine-tuned there once more with
# its attention in CBSA's form, at 384 pixels.
# Paper:    CBSA, NeurIPS 2025: 80.8 top-1 (read from a figure, so approximate)
# Measured: -
# Recipe:   the authors' (512 images, AMP, everything decays; random resized crop and flip only)
# Weights:  timm's vit_base_patch16_384.augreg_in21k_ft_in1k.safetensors, head included, in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-cbsa-b_8xb64_in1k-384px.py 8 --amp
_base_ = './vit-cbsa-b_8xb64_in1k.py'
weights = '{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_base_patch16_384.augreg_in21k_ft_in1k.safetensors'
model = dict(
    backbone=dict(img_size=384, init_cfg=dict(checkpoint=weights)), head=dict(init_cfg=dict(checkpoint=weights))
)
train_pipeline = _base_.train_pipeline
train_pipeline[1].update(scale=384)  # RandomResizedCrop
test_pipeline = _base_.test_pipeline
test_pipeline[1].update(scale=438)  # ResizeEdge
test_pipeline[2].update(crop_size=384)
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

# ViT-B/16 pre-trained on ImageNet-21K and tuned on ImageNet-1K, fine-tuned there once more with
# linear attention on the same weights, which the paper compares with, at 224 pixels.
# Paper:    CBSA, NeurIPS 2025: 79.8 top-1 (read from a figure, so approximate)
# Measured: -
# Recipe:   the authors' (512 images, AMP, everything decays; random resized crop and flip only)
# Weights:  timm's vit_base_patch16_224.augreg_in21k_ft_in1k.safetensors, head included, in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-linear-b_8xb64_in1k.py 8 --amp
_base_ = './vit-cbsa-b_8xb64_in1k.py'
model = dict(backbone=dict(mixer=dict(type='linear', rotary=False, kernel='relu+eps', added_eps=1e-6)))

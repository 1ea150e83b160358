# ViT-S/16 pre-trained on ImageNet-21K and tuned on ImageNet-1K, fine-tuned there once more with
# its own softmax attention, at 384 pixels.
# Paper:    CBSA, NeurIPS 2025: 83.7 top-1 (read from a figure, so approximate)
# Measured: -
# Recipe:   the authors' (512 images, AMP, everything decays; random resized crop and flip only)
# Weights:  timm's vit_small_patch16_384.augreg_in21k_ft_in1k.safetensors, head included, in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-tuned-s_8xb64_in1k-384px.py 8 --amp
_base_ = './vit-cbsa-s_8xb64_in1k-384px.py'
model = dict(backbone=dict(mixer=dict(_delete_=True, type='softmax')))

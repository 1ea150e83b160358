# As swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py, with learning rates that fall by a tenth with each block towards the image.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   ours
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/swin-csan-t_layer-decay_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py'
optim_wrapper = dict(constructor='csan_mm.LayerDecayOptimWrapperConstructor', paramwise_cfg=dict(layer_decay_rate=0.9))

# As mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py, with WeightFormer-S.
# Paper:    WeightFormer, arXiv 2605.01711: -
# Measured: -
# Weights:  the authors' ImageNet file (Hugging Face, RuizeHe/weightformer-s) as weightformer-s.safetensors
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/weightformer/mask-rcnn_weightformer-s_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = './mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py'
model = dict(
    backbone=dict(
        arch='small',
        drop_path_rate=0.2,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/weightformer-s.safetensors'),
    ),
    neck=dict(in_channels=384),
)

# As weightformer-s_8xb256_in1k.py, at 448 x 448: the paper's B has S's shapes and four times its tokens.
# Paper:    WeightFormer, arXiv 2605.01711: 83.4 top-1
# Measured: -
# Recipe:   the authors' (2048 images, without AMP); spread over two nodes by us
# Command:  NNODES=2 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/weightformer/weightformer-b_16xb128_in1k-448px.py 8  # on the other nodes NODE_RANK=1
_base_ = './weightformer-s_8xb256_in1k.py'
model = dict(backbone=dict(arch='base'))
train_pipeline = _base_.train_pipeline
train_pipeline[1].update(scale=448)  # RandomResizedCrop
test_pipeline = _base_.test_pipeline
test_pipeline[1].update(scale=(512, 512))  # Resize
test_pipeline[2].update(crop_size=448)
train_dataloader = dict(batch_size=128, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(batch_size=128, dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

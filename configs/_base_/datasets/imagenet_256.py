# ImageNet as MAViT's authors test: short side 256, bicubic, centre crop of 224.
_base_ = './imagenet.py'
test_pipeline = _base_.test_pipeline
test_pipeline[1].update(scale=256)  # ResizeEdge
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

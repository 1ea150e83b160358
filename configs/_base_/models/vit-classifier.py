# A linear layer on the class token. A config that uses it gives `backbone` with out_type='cls_token' and `head.in_channels`.
_base_ = './image-classifier.py'
model = dict(neck=None, head=dict(type='VisionTransformerClsHead'))

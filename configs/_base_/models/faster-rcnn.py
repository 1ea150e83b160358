# Faster R-CNN with FPN. A config that uses it gives `backbone` and `neck.in_channels`: four levels, strides 4 to 32.
_base_ = './mask-rcnn.py'
model = dict(
    type='FasterRCNN',
    data_preprocessor=dict(pad_mask=False),
    roi_head=dict(mask_roi_extractor=None, mask_head=None),
    train_cfg=dict(rcnn=dict(assigner=dict(match_low_quality=False))),
)

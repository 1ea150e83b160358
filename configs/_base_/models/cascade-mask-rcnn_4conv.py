# Cascade Mask R-CNN with four convolutions and one layer in each box head. A config that uses it gives the box heads a norm_cfg
# too: `bbox_head=[dict(head, norm_cfg=...) for head in _base_.model.roi_head.bbox_head]`, as lists are not merged.
_base_ = './cascade-mask-rcnn.py'
model = dict(
    roi_head=dict(
        bbox_head=[
            dict(head, type='Shared4Conv1FCBBoxHead', conv_out_channels=256) for head in _base_.model.roi_head.bbox_head
        ]
    )
)

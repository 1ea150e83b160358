# Cascade Mask R-CNN as ViTDet has it: simple feature pyramid, two convolutions in the RPN, four in each box head, LayerNorm
# everywhere. A config that uses it gives `backbone` with one map of stride 16 and `neck.in_channels`.
_base_ = './cascade-mask-rcnn_4conv.py'
norm_cfg = dict(type='csan_mm.LN2d', eps=1e-6)
model = dict(
    neck=dict(_delete_=True, type='csan_mm.SimpleFPN', out_channels=256, num_outs=5, norm_cfg=norm_cfg),
    rpn_head=dict(num_convs=2),
    roi_head=dict(
        bbox_head=[dict(head, norm_cfg=norm_cfg) for head in _base_.model.roi_head.bbox_head],
        mask_head=dict(norm_cfg=norm_cfg),
    ),
)

# Segmentation counts iterations, not epochs.
_base_ = './default_runtime.py'
default_scope = 'mmseg'
default_hooks = dict(
    logger=dict(log_metric_by_epoch=False),
    checkpoint=dict(by_epoch=False, interval=8000),
    visualization=dict(type='SegVisualizationHook'),
)
env_cfg = dict(cudnn_benchmark=True)  # training crops have one size
visualizer = dict(type='SegLocalVisualizer', name='visualizer', vis_backends={{_base_.vis_backends}})
log_processor = dict(by_epoch=False)
tta_model = dict(type='SegTTAModel')

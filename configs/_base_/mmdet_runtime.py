_base_ = './default_runtime.py'
default_scope = 'mmdet'
default_hooks = dict(visualization=dict(type='DetVisualizationHook'))
visualizer = dict(type='DetLocalVisualizer', name='visualizer', vis_backends={{_base_.vis_backends}})
log_processor = dict(type='LogProcessor', window_size=50, by_epoch=True)

_base_ = './default_runtime.py'
default_scope = 'mmpretrain'
default_hooks = dict(logger=dict(interval=100), visualization=dict(type='VisualizationHook', enable=False))
visualizer = dict(type='UniversalVisualizer', name='visualizer', vis_backends={{_base_.vis_backends}})

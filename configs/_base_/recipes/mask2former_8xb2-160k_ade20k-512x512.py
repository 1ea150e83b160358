# Mask2Former for semantic segmentation, 160,000 iterations on ADE20K. A config that uses it gives what
# models/mask2former_semantic.py asks for.
_base_ = [
    '../models/mask2former_semantic.py',
    '../datasets/ade20k_mask2former.py',
    '../schedules/mask2former_160k.py',
    '../mmseg_runtime.py',
]
default_hooks = dict(checkpoint=dict(interval=5000, save_best='mIoU'))

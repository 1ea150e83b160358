"""A stand-in for mmcv's compiled operators: ``mmcv._ext`` on top of torchvision, where no compiled one exists.

``pip install`` of mmcv often brings no compiled ``mmcv._ext``; then ``import mmcv.ops`` fails and with it every detector.
`install` appends a finder to ``sys.meta_path``: Python asks it last, so a compiled ``_ext`` always wins.

==========================================  ==============================================================
operator of mmcv.ops                        computed by
==========================================  ==============================================================
nms, batched_nms                            torchvision's nms, with mmcv's ``offset``
bbox_overlaps                               PyTorch
soft_nms                                    numpy, on the CPU as mmcv does
RoIAlign                                    torchvision's roi_align (mean), PyTorch (maximum)
sigmoid_focal_loss, softmax_focal_loss      PyTorch
DeformConv2d, ModulatedDeformConv2d         torchvision's deform_conv2d
MultiScaleDeformableAttention on CUDA       mmcv's own PyTorch form, which mmcv takes on a CPU
==========================================  ==============================================================

Gradients are there wherever mmcv has them; float16 and bfloat16 are computed in float32 and cast back. Every other
operator can be imported; when called it raises a NotImplementedError that says how to get a compiled mmcv. RoIPool is one
of these: torchvision's rounds a box to whole cells where mmcv's does not.

Under ``torch.use_deterministic_algorithms(True)`` RoIAlign is deterministic on CUDA too. The backward pass of a deformable
convolution is not: PyTorch raises an error there.
"""

from csan_mm.ops.ext.finder import install, is_stand_in

__all__ = ["install", "is_stand_in"]

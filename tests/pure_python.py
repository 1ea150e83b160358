"""A segmentor in a config that mmengine reads lazily: every type is a class, and no default_scope names the library."""

_SEGMENTOR = """
from mmcv.transforms import LoadImageFromFile, Resize
from mmseg.datasets import BaseSegDataset, LoadAnnotations, PackSegInputs
from mmseg.models import EncoderDecoder, FCNHead, SegDataPreProcessor
from mmseg.visualization import SegLocalVisualizer
from csan_mm.backbones import SwinCSaN

default_scope = None
model = dict(
    type=EncoderDecoder,
    data_preprocessor=dict(type=SegDataPreProcessor, size_divisor=32, pad_val=0, seg_pad_val=255),
    backbone=dict(type=SwinCSaN, arch=dict(embed_dims=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 4, 4))),
    decode_head=dict(type=FCNHead, in_channels=128, in_index=3, channels=16, num_classes={num_classes}),
    train_cfg=dict(),
    test_cfg=dict(mode="whole"),
)
steps = [dict(type=LoadImageFromFile), dict(type=Resize, scale=(64, 64)), dict(type=LoadAnnotations), dict(type=PackSegInputs)]
visualizer = dict(type=SegLocalVisualizer)
"""


def pure_python_segmentor(num_classes: int) -> str:
    """The text of the model, of ``steps`` for a ``BaseSegDataset``, and of the visualizer."""
    return _SEGMENTOR.format(num_classes=num_classes)

"""The embedded digits data set, in COCO, ADE20K and ImageNet form.

mmdet's ``CocoDataset``, mmseg's ``BaseSegDataset`` and mmpretrain's ``CustomDataset`` read it as it is, so no data set
class is registered here.
"""

from .digits import DigitsGenerator, Instance, Scene
from .digits_build import FORMS, DigitsExistError, build_digits
from .digits_spec import DIGITS_CLASSES, DIGITS_METAINFO, DIGITS_PALETTE, DIGITS_SEG_METAINFO, DigitsSpec

__all__ = [
    "DIGITS_CLASSES",
    "DIGITS_METAINFO",
    "DIGITS_PALETTE",
    "DIGITS_SEG_METAINFO",
    "FORMS",
    "DigitsExistError",
    "DigitsGenerator",
    "DigitsSpec",
    "Instance",
    "Scene",
    "build_digits",
]

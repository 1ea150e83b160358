"""Official checkpoint -> csan_mm: safe reading, conversion, and the initializer that uses both."""

from csan_mm.checkpoint.convert import SOURCES, convert_state_dict, guess_source, left_out
from csan_mm.checkpoint.files import CheckpointError, load_file, safe_load, save_file
from csan_mm.checkpoint.pretrained import Pretrained

__all__ = [
    "SOURCES",
    "CheckpointError",
    "Pretrained",
    "convert_state_dict",
    "guess_source",
    "left_out",
    "load_file",
    "safe_load",
    "save_file",
]

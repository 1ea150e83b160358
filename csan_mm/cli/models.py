"""A model with the weights of a checkpoint, for tools that need no data."""

from typing import Any

from mmengine.config import Config
from torch import nn

from csan_mm.analysis.models import build_model
from csan_mm.checkpoint import CheckpointError
from csan_mm.checkpoint.files import read_weights


def load_model(cfg: Config, checkpoint: str, trust: bool = False) -> tuple[nn.Module, dict[str, Any]]:
    """Build the model of a config and load its weights, every one of them.

    Args:
        cfg: The config; a backbone's ``init_cfg`` is left out.
        checkpoint: Path of the weights.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Returns:
        The model, on the CPU in training mode, and what the file says about itself.

    Raises:
        FileNotFoundError, CheckpointError: The file is missing, unreadable, or of another model.
    """
    weights, about = read_weights(checkpoint, trust)
    cfg = cfg.copy()
    if "backbone" in cfg.model:
        cfg.model.backbone.init_cfg = None
    model = build_model(cfg, trust)
    try:
        model.load_state_dict({name.removeprefix("module."): value for name, value in weights.items()})
    except RuntimeError as error:
        first = str(error).splitlines()[1].strip()[:300]
        raise CheckpointError(
            f"{checkpoint} does not fit {type(model).__name__} ({first}): {cfg.filename} is not its config"
        ) from error
    return model, about

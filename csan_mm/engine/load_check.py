"""Stops where mmengine would go on with weights that do not belong to the model."""

from collections.abc import Mapping

from mmengine.hooks import Hook
from mmengine.model import BaseTTAModel, is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn

from csan_mm.checkpoint import CheckpointError
from csan_mm.checkpoint.pretrained import Match
from csan_mm.common.arguments import check_arguments
from csan_mm.registry import HOOKS

#: Match's list of names that may be missing: none.
_NOTHING = (r"(?!)",)


@HOOKS.register_module()
class LoadCheckHook(Hook):
    """Compares a checkpoint with the model before it is loaded.

    mmengine logs the differences and goes on. For evaluation and for resuming any difference is a fault; a training that only
    starts from a checkpoint may differ from it (another number of classes), but not in everything.

    Args:
        checkpoint: The file's name, for the message.
        strict: Whether every name and shape has to fit. Default: True; False: at least one.

    Raises:
        CheckpointError: On loading, it does not fit; the message has the first missing and unexpected names.
    """

    def __init__(self, checkpoint: str, strict: bool = True) -> None:
        check_arguments(locals())
        self.checkpoint = checkpoint
        self.strict = strict

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Called between reading and loading."""
        model = _innermost(runner.model)
        state = {
            name.removeprefix("module."): value for name, value in checkpoint.get("state_dict", checkpoint).items()
        }
        if self.strict and not _loads(model, state):
            differences = Match(model, state, _NOTHING).differences()
            raise CheckpointError(
                f"{self.checkpoint} does not fit {type(model).__name__} of {runner.cfg.filename} ({differences}): take the "
                f"config it was trained with"
            )
        if not self.strict and not Match(model, state, _NOTHING).fitting:
            names = ", ".join(list(state)[:3])
            raise CheckpointError(
                f"no weight of {self.checkpoint} ({names}, ...) fits {type(model).__name__}: a backbone's file is loaded with "
                f"init_cfg=dict(type='csan_mm.Pretrained', checkpoint=..., source=...) of the backbone, not with load_from"
            )


def _innermost(model: nn.Module) -> nn.Module:
    while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
        model = model.module
    return model


def _loads(model: nn.Module, state: Mapping[str, Tensor]) -> bool:
    """Whether a state dict fits after what the modules themselves do to old ones; loads it, as the Runner is about to."""
    try:
        missing, unexpected = model.load_state_dict(state, strict=False)
    except RuntimeError:  # a shape
        return False
    return not unexpected and all(name.endswith("num_batches_tracked") for name in missing)

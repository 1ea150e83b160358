"""``init_cfg=dict(type='csan_mm.Pretrained', ...)``: load, convert, report, and stop where mmengine's would go on."""

import logging
import re
from collections.abc import Iterable

from mmengine.logging import print_log
from mmengine.model import update_init_info
from timm.models import adapt_input_conv
from torch import Tensor, nn

from csan_mm.checkpoint.convert import OUTPUT_PARTS, SOURCES, check_source, convert_state_dict, guess_source, left_out
from csan_mm.checkpoint.files import CheckpointError, load_file
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice, check_number
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.stem import RGB, first_convolution
from csan_mm.registry import WEIGHT_INITIALIZERS

NAMES_SHOWN = 5


@WEIGHT_INITIALIZERS.register_module(name="Pretrained")
class Pretrained:
    """Initializer that loads a backbone from a weight file and says in one line what it did.

    Args:
        checkpoint: Path of a .safetensors, .pth or .pt file; nothing is downloaded.
        source: Layout of the file, one of ``csan_mm.checkpoint.SOURCES``; ``None`` (default): csan_mm's own names.
        min_match: Stop when less than this share of names fits, the expected differences (heads, output norms, what a
            plain network lacks) not counted. Default: 0.95.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.
        part: 'backbone', or 'head' to load a head from the same file, as :func:`convert_state_dict` does. Default: 'backbone'.

    Raises:
        ValueError: ``source``, ``part`` or ``min_match`` is out of range.
        FileNotFoundError, CheckpointError: On loading: the file is missing, unreadable, or of another architecture.

    Example:
        >>> # Start Swin-CSaN from a plain Swin file: shared weights are loaded, CSaN's own keep their initialisation.
        >>> init_cfg = dict(type='csan_mm.Pretrained', checkpoint='swin_tiny_patch4_window7_224.pth', source='ms-swin')
    """

    def __init__(
        self,
        checkpoint: str,
        source: str | None = None,
        min_match: float = 0.95,
        trust: bool = False,
        part: str = "backbone",
    ) -> None:
        check_arguments(locals())
        if source is not None and not (isinstance(source, str) and source in SOURCES):
            raise ArgumentError(
                f"source={source!r} is unknown: take one of {', '.join(SOURCES)}, or None for csan_mm's own names"
            )
        check_choice("part", part, ("backbone", "head"))
        if part == "head":
            if source is None:
                raise ArgumentError("part='head' needs source=, which says under what names a file keeps its head")
            check_source(source, part)
        check_number("min_match", min_match, least=0, most=1)
        self.checkpoint = checkpoint
        self.source = source
        self.min_match = min_match
        self.trust = trust
        self.part = part

    def __call__(self, module: nn.Module) -> None:
        """Load the weights into a backbone."""
        self.load_into(module, load_file(self.checkpoint, self.trust))

    def load_into(self, module: nn.Module, weights: dict[str, Tensor]) -> None:
        """Load what was read of the file already."""
        state = weights if self.source is None else convert_state_dict(weights, self.source, self.part)
        notes = []
        if hasattr(module, "adapt_state_dict"):
            state, notes = module.adapt_state_dict(state)
        state, adapted = adapt_stem(module, state)
        notes = [*notes, *adapted]
        may_lack = (OUTPUT_PARTS,) if self.source is None else SOURCES[self.source].may_lack
        match = Match(module, state, may_lack)
        if match.ratio < self.min_match:
            raise CheckpointError(self._refusal(match, module, state))
        module.load_state_dict(match.fitting, strict=False)
        level = logging.WARNING if match.differences() else logging.INFO
        print_log(
            f"{self.checkpoint}: {match.summary(_top_names(left_out(weights, state)), notes)}",
            logger="current",
            level=level,
        )
        if hasattr(module, "_params_init_info"):
            update_init_info(module, init_info=f"Pretrained from {self.checkpoint}")

    def _refusal(self, match: "Match", module: nn.Module, state: dict[str, Tensor]) -> str:
        hints = [f"{match.ratio:.0%} of the names match, min_match={self.min_match:.0%}", match.differences()]
        layout = guess_source(state) if self.source is None else None
        hints += [f"the file has the layout of source={layout!r}: give that source"] if layout else []
        arch = _other_arch(module, state)
        hints += [f"the file looks like arch={arch}"] if arch else []
        return f"{self.checkpoint} does not fit {type(module).__name__}: {'; '.join(hints)}"


def detect_source(module: nn.Module, weights: dict[str, Tensor], min_match: float) -> str | None:
    """The layout of a file whose source nobody gave: ``None`` for this module's own names, or for none that is known."""
    state = module.adapt_state_dict(weights)[0] if hasattr(module, "adapt_state_dict") else weights
    own = Match(module, state, (OUTPUT_PARTS,)).ratio >= min_match
    return None if own else guess_source(weights)


def _other_arch(module: nn.Module, state: dict[str, Tensor]) -> str | None:
    """The variant the file is of, unless it is the module's own; levels that the module does not have make no difference."""
    if not hasattr(module, "guess_arch"):
        return None
    built = {name: value for name, value in state.items() if not name.startswith(tuple(module.unbuilt_prefixes))}
    same = module.guess_arch(built) == module.guess_arch(module.state_dict())
    return None if same else module.guess_arch(state)


def adapt_stem(module: nn.Module, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Fit the first convolution's RGB weights to another number of channels, by timm's convention.

    One channel gets the sum over the three; n channels get them repeated in order, times 3 / n, so that the response to equal
    channels stays.

    Returns:
        The weights, and a note if they were changed.
    """
    name, convolution = first_convolution(module) or ("", None)
    weight = state.get(f"{name}.weight")
    if convolution is None or weight is None or weight.ndim != 4:
        return state, []
    channels = convolution.in_channels
    if weight.shape[1] != RGB or channels == RGB or weight.shape[2:] != convolution.weight.shape[2:]:
        return state, []
    adapted = adapt_input_conv(channels, weight)
    return {**state, f"{name}.weight": adapted}, [f"adapted {name} from RGB to {channels} channels"]


class Match:
    """How the weights of a file and the parameters and buffers of a module fit together.

    Attributes:
        fitting: The weights that have a place of the same shape.
        ratio: Their share of all names on either side, expected differences left out.
    """

    def __init__(self, module: nn.Module, state: dict[str, Tensor], may_lack: Iterable[str]) -> None:
        wanted = module.state_dict()
        self.fitting = {
            name: value for name, value in state.items() if name in wanted and wanted[name].shape == value.shape
        }
        self.other_shape = {name: (state[name].shape, wanted[name].shape) for name in wanted if name in state}
        self.other_shape = {name: shapes for name, shapes in self.other_shape.items() if shapes[0] != shapes[1]}
        expected = re.compile("|".join(f"(?:{pattern})" for pattern in may_lack))
        absent = [name for name in wanted if name not in state and not name.endswith("num_batches_tracked")]
        self.new = [name for name in absent if expected.match(name)]
        self.missing = [name for name in absent if not expected.match(name)]
        unbuilt = tuple(getattr(module, "unbuilt_prefixes", ()))
        surplus = [name for name in state if name not in wanted]
        # Heads and necks of a whole model's file, and levels this backbone does not have.
        own = set(_top_names(wanted))
        self.unused = [n for n in surplus if n.split(".")[0] not in own or n.startswith(unbuilt) or expected.match(n)]
        self.unexpected = [name for name in surplus if name not in self.unused]
        self.wanted = len(self.fitting) + len(self.missing) + len(self.other_shape)
        self.ratio = len(self.fitting) / max(1, self.wanted + len(self.unexpected))

    def summary(self, ignored: list[str], notes: list[str]) -> str:
        """The one line of the report."""
        parts = [f"loaded {len(self.fitting)}/{self.wanted}", *notes]
        ignored = sorted(set(ignored) | set(_top_names(self.unused)))
        parts += [f"ignored {', '.join(f'{name}.*' for name in ignored)}"] if ignored else []
        parts += [f"new {', '.join(_summarised(self.new))}"] if self.new else []
        parts += [self.differences()] if self.missing or self.unexpected or self.other_shape else []
        return ", ".join(parts)

    def differences(self) -> str:
        """The first names that should have fitted and did not."""
        shapes = [f"{name} {tuple(got)} for {tuple(want)}" for name, (got, want) in self.other_shape.items()]
        kinds = {"missing": self.missing, "unexpected": self.unexpected, "of another shape": shapes}
        return "; ".join(f"{kind}: {_first(names)}" for kind, names in kinds.items() if names)


def _first(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _top_names(names: Iterable[str]) -> list[str]:
    return sorted({name.split(".")[0] for name in names if not name.endswith(("index", "attn_mask"))})


def _summarised(names: list[str]) -> list[str]:
    """Parameters as their modules, each once however many blocks have it."""
    modules = {re.sub(r"^(?:layers|blocks)\.[\d.]*(?:blocks\.\d+\.)?", "", name.rpartition(".")[0]) for name in names}
    return sorted(modules)

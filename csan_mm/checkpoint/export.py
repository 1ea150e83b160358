"""Networks as files for other runtimes: ONNX and torch.export, any batch and image size, checked before they are delivered.

A network is captured once with symbolic sizes. What is written is read back, run at several sizes that were not traced and
compared with the network itself; a file that differs is deleted.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from mmengine.logging import print_log
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.fx.experimental import _config as symbolic_config
from torch.utils._sympy.value_ranges import ValueRanges

from csan_mm.checkpoint.files import replacing
from csan_mm.common.errors import ArgumentError, UserError
from csan_mm.common.install import install_command
from csan_mm.layers.pooling import adaptive_pool
from csan_mm.layers.stem import image_channels

Size = tuple[int, int, int]

#: (images, H, W) of the check: one smaller than a window, one square, one larger than it and not square.
CHECKED_SIZES: tuple[Size, ...] = ((1, 24, 20), (2, 224, 224), (1, 264, 392))

#: Traced size: more than one window of every stage on either side, no multiple of any stride. Nothing is computed at it.
TRACED_SIZE: Size = (2, 481, 547)

#: Largest difference over the largest value.
TOLERANCE = 1e-4


class ExportError(UserError, RuntimeError):
    """The exporter cannot write this network, or the file does not give its numbers; the message says which and where."""


class TensorOutputs(nn.Module):
    """A detector or segmentor from image to its raw outputs: the neck's maps through the head, without decoding or NMS.

    Args:
        model: An mmdet or mmseg model with ``extract_feat`` and ``bbox_head`` or ``decode_head``.

    Raises:
        ExportError: A model with neither head, such as a two-stage detector, whose second stage needs boxes.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        names = [name for name in ("bbox_head", "decode_head") if hasattr(model, name)]
        if not names or hasattr(model, "roi_head"):
            raise ExportError(
                f"{type(model).__name__} has no dense head: export its backbone, or a RetinaNet or UperNet"
            )
        self.model = model
        self.head_name = names[0]  # torch.export fixes sizes where one module has two names

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, C, H, W), preprocessed -> the head's maps, flattened into one tuple."""
        return tuple(_flat(getattr(self.model, self.head_name)(self.model.extract_feat(image))))


def _flat(outputs: Tensor | Sequence) -> Iterator[Tensor]:
    if isinstance(outputs, Tensor):
        yield outputs
    else:
        for output in outputs:
            yield from _flat(output)


def export_onnx(
    model: nn.Module,
    path: str | os.PathLike[str],
    sizes: Sequence[Size] = CHECKED_SIZES,
    opset: int = 18,
    tolerance: float = TOLERANCE,
) -> float:
    """Write an ONNX file with dynamic batch, height and width, and run it in onnxruntime.

    Args:
        model: Image (B, C, H, W) -> tensor or tuple of tensors: a backbone, or a :class:`TensorOutputs`.
        path: Ends in .onnx. The input is called ``image``, the outputs ``output0``, ``output1``, ...
        sizes: (images, H, W) at which the file is compared. Default: one below a window, one square, one not.
        opset: ONNX operator set, from 17. Default: 18.
        tolerance: Largest difference over the largest value. Default: 1e-4.

    Returns:
        The largest relative difference that was seen.

    Raises:
        ValueError: Another suffix, or an opset below 17.
        ImportError: onnx, onnxscript or onnxruntime is missing.
        ExportError: The exporter refuses the network, or the file differs from it; nothing is left at ``path``.
    """
    path = _checked(path, ".onnx")
    if opset < 17:
        raise ArgumentError(f"opset={opset} is too old for LayerNormalization: take 17 or newer")
    try:
        import onnxruntime
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ImportError as error:
        raise ImportError(f"{error.name} is missing: {install_command('export')}") from error
    with _evaluating(model), replacing(path) as temporary:
        program = capture(model)
        names = [f"output{i}" for i in range(len(program.graph_signature.user_outputs))]
        try:
            onnx_program = torch.onnx.export(
                program, dynamo=True, opset_version=opset, input_names=["image"], output_names=names, verbose=False
            )
        except torch.onnx.errors.OnnxExporterError as error:
            raise ExportError(f"{type(model).__name__} cannot be written as ONNX: {_first_line(error)}") from error
        onnx_program.save(temporary)
        session = onnxruntime.InferenceSession(temporary, providers=["CPUExecutionProvider"])

        def run(image: Tensor) -> list[Tensor]:
            return [torch.from_numpy(output) for output in session.run(None, {"image": image.numpy()})]

        return _compare(model, run, sizes, tolerance, path)


def export_program(
    model: nn.Module,
    path: str | os.PathLike[str],
    sizes: Sequence[Size] = CHECKED_SIZES,
    tolerance: float = TOLERANCE,
) -> float:
    """Write a torch.export program (``torch.export.load(path).module()`` runs it) with dynamic batch, height and width.

    Args:
        model: As for :func:`export_onnx`, like ``sizes`` and ``tolerance``.
        path: Ends in .pt2.
        sizes: See :func:`export_onnx`.
        tolerance: See :func:`export_onnx`.

    Returns:
        The largest relative difference that was seen.

    Raises:
        ValueError: Another suffix.
        ExportError: The network cannot be captured, or the program differs from it; nothing is left at ``path``.
    """
    path = _checked(path, ".pt2")
    with _evaluating(model), replacing(path) as temporary:
        # torch.export.save and load want the suffix.
        archive = temporary.with_suffix(".pt2")
        try:
            torch.export.save(capture(model), archive)
            os.replace(archive, temporary)
        finally:
            archive.unlink(missing_ok=True)
        with open(temporary, "rb") as file:
            program = torch.export.load(file).module()

        def run(image: Tensor) -> list[Tensor]:
            return list(_flat(program(image)))

        return _compare(model, run, sizes, tolerance, path)


def capture(model: nn.Module) -> ExportedProgram:
    """Capture a network with symbolic batch, height and width.

    The exporter also records what it assumed about the traced size, down to "there is more than one window"; our networks do not
    depend on these assumptions, and the comparison at other sizes checks that, so they are dropped.

    Raises:
        ExportError: The network cannot be captured.
    """
    if not hasattr(symbolic_config, "backed_size_oblivious"):
        raise ExportError(
            f"torch {torch.__version__} captures networks for the traced image size alone: export with a newer one, such as the "
            f"tested one (`python -m csan_mm doctor` names it)"
        )
    batch, height, width = TRACED_SIZE
    image = torch.zeros(batch, image_channels(model), height, width, device=next(model.parameters()).device)
    dynamic = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC}
    try:
        with symbolic_config.patch(backed_size_oblivious=True), _pooling_by_products(model), torch.no_grad():
            program = torch.export.export(
                model,
                (image,),
                dynamic_shapes=(dynamic,),
                strict=False,
                prefer_deferred_runtime_asserts_over_guards=True,
            )
    except Exception as error:  # torch.export raises many kinds, all of which mean the same here
        raise ExportError(f"{type(model).__name__} cannot be captured: {_first_line(error)}") from error
    _drop_assumptions(program)
    return program


@contextmanager
def _pooling_by_products(model: nn.Module) -> Iterator[None]:
    """Adaptive pooling, UPerNet's, in a form the exporters write for any size: theirs unrolls the cells of the traced one."""
    pools = [module for module in model.modules() if isinstance(module, nn.AdaptiveAvgPool2d)]
    for pool in pools:
        pool.forward = partial(_pooled, size=pool.output_size)
    try:
        yield
    finally:
        for pool in pools:
            del pool.forward


def _pooled(x: Tensor, size: int | tuple[int | None, int | None]) -> Tensor:
    sides = (size, size) if isinstance(size, int) else size
    height, width = (side or length for side, length in zip(sides, x.shape[-2:]))
    return adaptive_pool(x.permute(0, 2, 3, 1), (height, width)).permute(0, 3, 1, 2)


def _drop_assumptions(program: ExportedProgram) -> None:
    aten = torch.ops.aten
    assumptions = (aten._assert_scalar.default, aten.sym_constrain_range_for_size.default)
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in assumptions:
            graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    # The same once more, as code that module() runs and as ranges of the sizes; from 2 is how torch writes "any".
    program._guards_code = []
    for symbol, sizes in program.range_constraints.items():
        program.range_constraints[symbol] = ValueRanges(min(sizes.lower, 2), sizes.upper)


def _compare(
    model: nn.Module, run: Callable[[Tensor], list[Tensor]], sizes: Sequence[Size], tolerance: float, path: Path
) -> float:
    """Run both at every size.

    Raises:
        ExportError: They differ by more than the tolerance, or the file does not run.
    """
    worst, channels = 0.0, image_channels(model)
    for batch, height, width in sizes:
        image = torch.randn(batch, channels, height, width, generator=torch.Generator().manual_seed(0))
        where = f"{path.name} was not kept: with {batch} images of {height}x{width}"
        try:
            with torch.no_grad():
                expected, outputs = list(_flat(model(image))), run(image)
        except Exception as error:  # whatever a runtime raises, the file is not to be used
            raise ExportError(f"{where} it fails ({_first_line(error)})") from error
        for i, (got, want) in enumerate(zip(outputs, expected, strict=True)):
            if got.shape != want.shape:
                raise ExportError(f"{where} output {i} has shape {tuple(got.shape)}, the network's {tuple(want.shape)}")
            difference = float((got - want).abs().max() / want.abs().max().clamp(min=1e-12))
            if not difference <= tolerance:
                raise ExportError(
                    f"{where} output {i} differs by {difference:.1e} of its largest value (allowed: {tolerance:.0e})"
                )
            worst = max(worst, difference)
    print_log(f"{path}: same numbers at {len(sizes)} sizes, largest relative difference {worst:.1e}", logger="current")
    return worst


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _checked(path: str | os.PathLike[str], suffix: str) -> Path:
    path = Path(path)
    if path.suffix != suffix:
        raise ArgumentError(f"path={str(path)!r} must end in {suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__

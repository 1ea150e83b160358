"""Small checks that csan_mm computes right on a device: each returns what it measured, or raises.

The measure is a twin in float64 on the CPU: |difference| / |twin|, of each output and of all gradients together. Lengths are
Euclidean: at a maximum or a ReLU rounding may choose another side, and single gradients then differ by all they are.
"""

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csan_mm.backbones import CBT, HieraCSaN, MAViT, SwinCSaN, ViTCSaN, WeightFormer
from csan_mm.checkpoint.export import ExportError, export_onnx, export_program

_BLOCKS = {"embed_dims": 32, "depth": 2, "num_heads": 2}
_STAGES = {"embed_dims": 32, "depths": (2, 1), "num_heads": (1, 2)}
_WIDTHS = {"embed_dims": (32, 64), "depths": (1, 1), "num_heads": (1, 2)}
#: Family -> a small network of it without anything random; positions are resized, windows shifted, queries pooled.
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "SwinCSaN": lambda: SwinCSaN(_STAGES, version="v2", window_size=4, drop_path_rate=0.0, out_indices=(0, 1)),
    "ViTCSaN": lambda: ViTCSaN(_BLOCKS, img_size=64),
    "HieraCSaN": lambda: HieraCSaN({**_STAGES, "num_heads": 1}, img_size=64, out_indices=(0, 1)),
    "MAViT": lambda: MAViT(
        {"embed_dims": (32, 64), "depths": (1, 1), "num_heads": (1, 2)},
        ("mala", "softmax"),
        drop_path_rate=0.0,
        out_indices=(0, 1),
    ),
    "WeightFormer": lambda: WeightFormer({"embed_dims": 32, "depth": 2}),
    "CBT": lambda: CBT(_BLOCKS, img_size=64, mixer={"type": "cbsa", "rep_grid": 2}),
}
#: Precision -> largest difference that rounding explains (ours): float32 has 24 bits, float16 11, bfloat16 8, over a few layers.
PRECISIONS = {"float32": 1e-4, "bfloat16": 0.12, "float16": 0.05}
SIZE = (97, 130)


class NotRunError(Exception):
    """A check that this machine cannot run; the message says why."""


def network(name: str, device: str, precision: str) -> str:
    """Outputs and gradients of a small network of a family against its twin; half precisions under autocast, with a GradScaler.

    Raises:
        AssertionError: They differ more than rounding explains, or are not finite.
    """
    torch.manual_seed(1)
    model = NETWORKS[name]().eval()  # batch norms take their statistics as they are
    image = torch.randn(2, 3, *SIZE)
    expected = _outputs_and_gradients(model.double(), image.double(), None, "cpu")
    found = _outputs_and_gradients(model.float().to(device), image.to(device), precision, device)
    worst = max(_difference(own, wanted) for own, wanted in zip(found, expected, strict=True))
    assert worst <= PRECISIONS[precision], f"differs by {worst:.1e}, {PRECISIONS[precision]:g} allowed"
    return f"differs by {worst:.1e}"


def _outputs_and_gradients(model: nn.Module, image: Tensor, precision: str | None, device: str) -> list[Tensor]:
    """Every map, then all gradients of a fixed projection as one vector.

    In float16 with the largest scale that overflows nothing, which GradScaler finds in the course of a training.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    half = precision in ("bfloat16", "float16")
    for scale in (2.0**16, 2.0**12, 2.0**8, 2.0**4, 1.0) if precision == "float16" else (1.0,):
        scaler = torch.amp.GradScaler(device, enabled=precision == "float16", init_scale=scale)
        with torch.autocast(device, dtype=getattr(torch, precision or "float32"), enabled=half):
            maps = model(image)
            loss = projection(maps)
        scaled = torch.autograd.grad(scaler.scale(loss), parameters)
        gradient = torch.cat([(own.double() / scale).flatten().cpu() for own in scaled])
        if gradient.isfinite().all():
            break
    return [*(own.detach().double().cpu() for own in maps), gradient]


def projection(maps: tuple[Tensor, ...]) -> Tensor:
    """A scalar that every entry of every map takes part in, with fixed signs."""
    terms = []
    for y in maps:
        signs = torch.sin(torch.arange(y.numel(), dtype=torch.float64)).view(y.shape)
        terms.append((y * signs.to(y)).sum(dtype=torch.promote_types(y.dtype, torch.float32)) / y.numel() ** 0.5)
    return torch.stack(terms).sum()


def _difference(found: Tensor, expected: Tensor) -> float:
    assert found.isfinite().all(), "not finite"
    return float((found - expected).norm() / expected.norm())


def deterministic(device: str) -> str:
    """Two backward passes of every family under ``torch.use_deterministic_algorithms`` give the same bits."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    was = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        for name, build in NETWORKS.items():
            torch.manual_seed(1)
            model, image = build().to(device).eval(), torch.randn(1, 3, *SIZE).to(device)
            first, second = (_outputs_and_gradients(model, image, "float32", device)[-1] for _ in range(2))
            assert torch.equal(first, second), f"{name} gives other gradients the second time"
    finally:
        torch.use_deterministic_algorithms(was)
    return f"{len(NETWORKS)} families"


def exported(device: str) -> str:
    """torch.export of a model that lies on the device; :func:`export_program` compares it with the network at other sizes."""
    with tempfile.TemporaryDirectory() as folder:
        export_program(NETWORKS["SwinCSaN"]().eval().to(device), Path(folder, "swin.pt2"))
    return "equal to the network at other sizes"


def onnx(device: str, path: Path) -> str:
    """ONNX of a model that lies on the device; :func:`export_onnx` compares it with the network at other sizes.

    Raises:
        NotRunError: The packages are not installed.
    """
    try:
        export_onnx(NETWORKS["ViTCSaN"]().eval().to(device), path)
    except (ImportError, ModuleNotFoundError) as error:
        raise NotRunError(f"{error}: install csan_mm[export]") from error
    except ExportError as error:
        if "install" in str(error):
            raise NotRunError(str(error)) from error
        raise
    return "equal to the network at other sizes"


def processes(device: str) -> str:
    """Gradients of several processes with one image each equal those of one process with all: NCCL over the GPUs, gloo on a CPU.

    Raises:
        NotRunError: One GPU alone.
    """
    count = torch.cuda.device_count() if device == "cuda" else 2
    if count < 2:
        raise NotRunError("one GPU: NCCL needs two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    torch.multiprocessing.spawn(_one_of_several, (count, port, device, results), nprocs=count)
    worst = results.get()
    assert worst <= 1e-4, f"gradients differ by {worst:.1e} of the largest"
    return f"{count} processes, gradients differ by {worst:.1e}"


def _one_of_several(rank: int, count: int, port: int, device: str, results: Any) -> None:
    torch.set_num_threads(1)
    backend = "nccl" if device == "cuda" else "gloo"
    torch.distributed.init_process_group(backend, f"tcp://127.0.0.1:{port}", rank=rank, world_size=count)
    try:
        place = torch.device(device, rank) if device == "cuda" else torch.device("cpu")
        torch.manual_seed(1)
        model, images = NETWORKS["SwinCSaN"]().eval().to(place), torch.randn(count, 3, *SIZE).to(place)
        together = torch.cat(
            [p.flatten() for p in torch.autograd.grad(_mean_loss(model, images), list(model.parameters()))]
        )
        ids = [rank] if device == "cuda" else None
        wrapped = nn.parallel.DistributedDataParallel(model, device_ids=ids)
        _mean_loss(wrapped, images[rank : rank + 1]).backward()
        shared = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        if rank == 0:
            results.put(float((shared - together).abs().max() / together.abs().max()))
    finally:
        torch.distributed.destroy_process_group()


def _mean_loss(model: nn.Module, images: Tensor) -> Tensor:
    """Mean over the images of each one's projection."""
    maps = model(images)
    return torch.stack([projection(tuple(level[i : i + 1] for level in maps)) for i in range(len(images))]).mean()


def _against_the_cpu(function: Callable[..., Any], *inputs: Tensor) -> str:
    """An operator of the stand-in on the GPU and on the CPU: values and, where there are any, gradients."""

    def results(device: str) -> list[Tensor]:
        own = [
            x.to(device).requires_grad_(x.requires_grad)
            for x in (y.detach().requires_grad_(y.requires_grad) for y in inputs)
        ]
        y = function(*own)
        wanted = [x for x in own if x.requires_grad]
        if not wanted:
            return [y.double().cpu()]
        signs = torch.sin(torch.arange(y.numel(), dtype=torch.float32)).view(y.shape).to(y)
        return [y.detach().double().cpu(), *(g.double().cpu() for g in torch.autograd.grad((y * signs).sum(), wanted))]

    worst = max(_difference(own, wanted) for own, wanted in zip(results("cuda"), results("cpu"), strict=True))
    assert worst <= 1e-3, f"differs by {worst:.1e}"
    return f"differs by {worst:.1e}"


def _boxes(count: int = 200) -> Tensor:
    corner, size = torch.rand(count, 2) * 80, torch.rand(count, 2) * 30 + 2
    return torch.cat([corner, corner + size], dim=1)


def _nms() -> str:
    from mmcv.ops import nms

    boxes, scores = _boxes(), torch.rand(200)
    kept = [nms(boxes.to(device), scores.to(device), 0.5)[1].cpu() for device in ("cuda", "cpu")]
    assert torch.equal(*kept), "keeps other boxes"
    return f"{len(kept[0])} of 200 boxes kept"


def _roi_align() -> str:
    from mmcv.ops import roi_align

    rois = torch.cat([torch.zeros(200, 1), _boxes()], dim=1)
    return _against_the_cpu(
        lambda x: roi_align(x, rois.to(x), (7, 7), 0.25, 0, "avg", True), torch.randn(1, 8, 30, 30).requires_grad_()
    )


def _focal_loss() -> str:
    from mmcv.ops import sigmoid_focal_loss

    target = torch.randint(0, 6, (50,))
    return _against_the_cpu(
        lambda x: sigmoid_focal_loss(x, target.to(x.device), 2.0, 0.25, None, "none"),
        torch.randn(50, 5).requires_grad_(),
    )


def _deform_conv() -> str:
    from mmcv.ops import modulated_deform_conv2d

    x, weight = torch.randn(1, 4, 12, 13).requires_grad_(), torch.randn(6, 4, 3, 3).requires_grad_()
    offset, mask = torch.randn(1, 18, 12, 13).requires_grad_(), torch.rand(1, 9, 12, 13).requires_grad_()
    return _against_the_cpu(
        lambda x, o, m, w: modulated_deform_conv2d(x, o, m, w, None, 1, 1, 1, 1, 1), x, offset, mask, weight
    )


#: The stand-in's operators, or the compiled ones where mmcv has them.
OPERATORS: dict[str, Callable[[], str]] = {
    "NMS": _nms,
    "RoIAlign": _roi_align,
    "focal loss": _focal_loss,
    "deformable convolution": _deform_conv,
}

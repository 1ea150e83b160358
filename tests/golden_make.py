"""Makes the golden files of tests/golden: python tests/golden_make.py [NAME ...]

Small networks with random parameters, larger than a real start so that every term of the formulas shows. The expected outputs
come from the formulas in loops (golden_loops*.py), which know nothing of csan_mm; the tests hold csan_mm to them.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_loops as loops
import golden_loops_linear as linear_loops
import torch
from golden_loops import Outputs, Parameters, images_one_by_one
from mmengine.registry import MODELS
from safetensors.torch import save_file
from torch import Tensor, nn

import csan_mm  # noqa: F401 (registers the backbones)

FOLDER = Path(__file__).parent / "golden"
LARGEST = 200_000  # bytes
SWIN = {
    "family": "swin_csan",
    "embed_dims": 4,
    "depths": (1, 2, 1, 1),
    "num_heads": (1, 1, 2, 4),
    "window_size": 7,
    "size": (64, 32),
}

#: What each file's network is; the same words stand in its metadata, as in the files that were given to the project.
ABOUT: dict[str, dict[str, Any]] = {
    "swin_csan_v1_bounded": {**SWIN, "kappa": "bounded", "version": "v1"},
    "swin_csan_v2_unbounded": {**SWIN, "kappa": "unbounded", "version": "v2"},
    "vit_csan_bounded": {
        "family": "vit_csan",
        "embed_dims": 24,
        "depth": 3,
        "num_heads": 3,
        "kappa": "bounded",
        "img_size": 40,
        "patch_size": 8,
    },
    "hiera_csan_bounded": {
        "family": "hiera_csan",
        "embed_dims": 4,
        "stages": (1, 2, 2, 1),
        "num_heads": 1,
        "kappa": "bounded",
        "img_size": 64,
    },
    "mavit": {
        "family": "mavit",
        "embed_dims": [12, 12, 12, 24],
        "depths": [1, 1, 2, 1],
        "num_heads": [1, 1, 1, 2],
        "layer_scale": [True] * 4,
        "size": (40, 64),
    },
    "weightformer": {"family": "weightformer", "embed_dims": 16, "depth": 5, "patch_size": 8, "size": (40, 56)},
    "cbt": {"family": "cbt", "embed_dims": 16, "depth": 3, "num_heads": 2, "img_size": 80},
    "cbt_decoder": {
        "family": "cbt_decoder",
        "embed_dims": 12,
        "num_classes": 7,
        "num_layers": 2,
        "num_heads": 3,
        "head_dims": 8,
        "pool_size": 3,
        "size": (5, 7),
    },
}


def backbone(about: dict[str, Any]) -> nn.Module:
    """csan_mm's network, whose parameters have the names of the official checkpoints or nearly so."""
    dims = {
        name: about[name] for name in ("embed_dims", "depth", "depths", "num_heads", "layer_scale") if name in about
    }
    family = about["family"]
    if family == "cbt_decoder":
        options = {"num_layers": about["num_layers"], "num_heads": about["num_heads"], "head_dims": about["head_dims"]}
        head = {"in_channels": about["embed_dims"], "num_classes": about["num_classes"], "rep_grid": about["pool_size"]}
        return MODELS.build({"type": "csan_mm.CBTHead", **options, **head})
    if family == "hiera_csan":
        dims["depths"] = about["stages"]
    kinds = {
        "swin_csan": ("SwinCSaN", ("kappa", "version")),
        "vit_csan": ("ViTCSaN", ("kappa", "img_size", "patch_size")),
        "hiera_csan": ("HieraCSaN", ("kappa", "img_size")),
        "mavit": ("MAViT", ()),
        "weightformer": ("WeightFormer", ("patch_size",)),
        "cbt": ("CBT", ("img_size",)),
    }
    kind, options = kinds[family]
    norm = {"out_indices": (3,)} if family == "swin_csan" else {"norm_cfg": None}
    return MODELS.build({"type": f"csan_mm.{kind}", "arch": dims, **norm, **{name: about[name] for name in options}})


def official_name(name: str, family: str) -> str:
    """A parameter's name in the official checkpoints."""
    if family == "swin_csan":
        return name.replace("norm3.", "norm.") if name.startswith("norm3.") else name
    if family == "cbt_decoder":
        return f"net.{name.replace('.attn.', '.fn.')}" if name.startswith("layers.") else name
    if family != "cbt":
        return name
    name = name.replace("patch_embed.proj.", "to_patch_embedding.proj.").replace("pos_embed", "pos_embedding")
    if name.startswith("norm."):
        return f"mlp_head.0.{name.removeprefix('norm.')}"
    if not name.startswith("blocks."):
        return name
    _, block, kind, rest = name.split(".", 3)
    place = {"norm1": "0.norm", "attn": "0.fn", "norm2": "1.norm", "ista": "1.fn"}[kind]
    return f"transformer.layers.{block}.{place}.{rest}"


def classifier(family: str, width: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what the official checkpoints have behind the backbone, for 10 classes."""
    if family == "mavit":
        norm = {f"norm.{part}": (12,) for part in ("weight", "bias", "running_mean", "running_var")}
        project = {"proj.weight": (12, width, 1, 1), "proj.bias": (12,)}
        return {**project, **norm, "head.weight": (10, 12, 1, 1), "head.bias": (10,)}
    head = {"cbt": "mlp_head.1", "weightformer": "head"}.get(family)
    return {} if head is None else {f"{head}.weight": (10, width), f"{head}.bias": (10,)}


def random_like(name: str, shape: torch.Size) -> Tensor:
    """Scales and variances around 1, matrices by their fan-in, all else of half a unit."""
    value = torch.randn(shape)
    if name.endswith("running_var"):
        return 1 + 0.3 * value.abs()
    if len(shape) == 1 and name.endswith("weight"):
        return 1 + 0.3 * value
    fan_in = value[0].numel() if len(shape) > 1 and name.endswith("weight") else 0
    return value * (1.5 / fan_in**0.5 if fan_in else 0.5)


def parameters(about: dict[str, Any]) -> Parameters:
    """Random float32 parameters and buffers by their official names."""
    family, model = about["family"], backbone(about)
    shapes = {official_name(name, family): value.shape for name, value in model.state_dict().items() if value.ndim}
    shapes |= classifier(
        family, about["embed_dims"] if isinstance(about["embed_dims"], int) else about["embed_dims"][-1]
    )
    state = {name: random_like(name, torch.Size(shape)) for name, shape in sorted(shapes.items())}
    if family == "mavit":
        heads = zip(about["embed_dims"], about["num_heads"])
        for i, quarter in enumerate(width // number // 4 for width, number in heads):
            state[f"layers.{i}.RoPE.angle"] = (10000 ** -torch.linspace(0, 1, quarter)).repeat_interleave(2)
    return state


def expected(P: Parameters, images: Tensor, a: dict[str, Any]) -> Outputs:
    """What the formulas in loops give in float64; ``a`` says of the network what ``ABOUT`` does."""
    P = {name: value.double() for name, value in P.items()}
    formulas: dict[str, Callable[[Tensor], Outputs]] = {
        "swin_csan": lambda x: loops.swin(P, x, a["depths"], a["num_heads"], a["window_size"]),
        "vit_csan": lambda x: loops.vit(P, x, a["depth"], a["num_heads"], a["patch_size"]),
        "hiera_csan": lambda x: loops.hiera(P, x, a["stages"], a["num_heads"]),
        "mavit": lambda x: linear_loops.mavit(P, x, a["depths"], a["num_heads"]),
        "weightformer": lambda x: linear_loops.weightformer(P, x, a["depth"], a["patch_size"]),
        "cbt": lambda x: linear_loops.cbt(P, x, a["depth"], a["num_heads"]),
        "cbt_decoder": lambda x: linear_loops.cbt_decoder(P, x, a["num_layers"], a["num_heads"], a["pool_size"]),
    }
    return images_one_by_one(formulas[a["family"]], images.double())


@torch.no_grad()
def make(name: str) -> None:
    """Write one file."""
    torch.manual_seed(sorted(ABOUT).index(name))
    about = ABOUT[name]
    state = parameters(about)
    size = about.get("size") or (about["img_size"],) * 2
    image = torch.randn(1, about["embed_dims"] if about["family"] == "cbt_decoder" else 3, *size)
    words = {key: str(value) for key, value in about.items()}
    tensors = {f"state/{key}": value for key, value in state.items()} | {"input": image}
    tensors |= {f"output/{key}": value.float() for key, value in expected(state, image, about).items()}
    path = FOLDER / f"{name}.safetensors"
    save_file({key: value.contiguous() for key, value in tensors.items()}, path, words)
    size = path.stat().st_size
    print(f"{path.name}: {size} bytes")
    assert size < LARGEST, f"{path} has {size} bytes: take a smaller network"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file in sys.argv[1:] or ABOUT:
        make(file)

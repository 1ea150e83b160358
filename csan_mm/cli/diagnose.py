"""Diagnostics on backbones and images, as ``csan_mm diagnose`` starts them: a picture and a JSON file."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.transforms.v2.functional import resize

from csan_mm.analysis.diagnostics import DIAGNOSTICS, Finding, Options
from csan_mm.analysis.models import build_model
from csan_mm.backbones.base import DenseBackbone
from csan_mm.checkpoint.files import replacing
from csan_mm.cli.errors import error_border
from csan_mm.cli.models import load_model
from csan_mm.cli.pictures import find_images, read_image
from csan_mm.cli.video import is_video
from csan_mm.common.config import merge_options, read_config, require_writable
from csan_mm.common.errors import UserError
from csan_mm.zoo import get_backbone, list_models

#: ImageNet's mean and standard deviation per channel, of images in RGB from 0 to 255; for models that have none of their own.
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


def run(args: argparse.Namespace) -> None:
    """Measure ``args.what`` on every model and write ``args.out``/WHAT.png and WHAT.json.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    out, diagnostic = Path(args.out), DIAGNOSTICS[args.what]
    with error_border(args.models[0]):
        require_writable(out, "--out")
        pixels = read_pictures(args.images, args.num_images, args.shape)
        labels = None if args.labels is None else read_labels(args.labels, args.images, args.num_images, args.shape)
        options = Options(seed=args.seed, labels=labels)
        findings: dict[str, Finding] = {}
        for target, checkpoint in zip(args.models, _per_model(args.checkpoints, args.models)):
            torch.manual_seed(args.seed)
            backbone, mean, std = find_backbone(target, checkpoint, args.source, args.cfg_options, args.trust)
            images = [(image - mean) / std for image in pixels]
            findings[_name(target, findings)] = diagnostic.measure(backbone.eval(), images, options)
        write_json(out / f"{args.what}.json", args, findings)
        diagnostic.draw({name: finding.shown for name, finding in findings.items()}, out / f"{args.what}.png")
    for name, finding in findings.items():
        print(f"{name}: {json.dumps(finding.numbers)}")
    print(f"written: {out / f'{args.what}.png'}, {out / f'{args.what}.json'}")


def find_backbone(
    target: str, checkpoint: str | None, source: str | None, cfg_options: Sequence[str], trust: bool
) -> tuple[DenseBackbone, Tensor, Tensor]:
    """The backbone of a name or a config, and the mean and standard deviation (3, 1, 1) its images are normalised by.

    Raises:
        UserError: A config whose backbone is not one of csan_mm; an unknown name or file.
    """
    if target in list_models():
        return get_backbone(target, checkpoint, source, trust=trust), _column(MEAN), _column(STD)
    cfg = read_config(target)
    merge_options(cfg, cfg_options)
    model = load_model(cfg, checkpoint, trust)[0] if checkpoint else build_model(_fresh(cfg))
    backbone = getattr(model, "backbone", None)
    if not isinstance(backbone, DenseBackbone):
        raise UserError(f"{target}: its backbone is {type(backbone).__name__}, and csan_mm looks into its own alone")
    return backbone, *_normalisation(model)


def read_pictures(images: Sequence[str] | None, most: int, shape: Sequence[int]) -> list[Tensor]:
    """Images (3, H, W) in RGB, from 0 to 255, all resized to one shape."""
    if min(shape) < 1 or most < 1:
        raise UserError(f"--shape {shape[0]} {shape[1]}, --num-images {most}: take numbers from 1 up")
    arrays = _sample_photographs() if images is None else _own_pictures(images, most)
    tensors = [torch.from_numpy(array.copy()).permute(2, 0, 1).float() for array in arrays[:most]]
    return [resize(tensor, list(shape), antialias=True) for tensor in tensors]


def read_labels(folder: str, images: Sequence[str] | None, most: int, shape: Sequence[int]) -> list[Tensor]:
    """The label maps (H, W) of the images, resized to one shape; files DIR/STEM.png.

    Raises:
        UserError: No images of the user's own, or an image without a label map.
    """
    if images is None:
        raise UserError("--labels belongs to images of your own: give --images too")
    return [_label_map(Path(folder, f"{Path(file).stem}.png"), shape) for file in _picture_files(images)[:most]]


def _label_map(path: Path, shape: Sequence[int]) -> Tensor:
    if not path.is_file():
        raise UserError(f"{path} does not exist: --labels needs a label map for each image, with its name")
    with Image.open(path) as picture:
        values = torch.from_numpy(np.array(picture, dtype=np.int64))
    if values.ndim != 2:
        raise UserError(f"{path} is a colour picture: a label map has one value per pixel, the class")
    return interpolate(values[None, None].float(), size=tuple(shape), mode="nearest-exact")[0, 0].long()


def write_json(path: Path, args: argparse.Namespace, findings: dict[str, Finding]) -> None:
    """What was measured, and on what."""
    about = {
        "what": args.what,
        "shape": args.shape,
        "seed": args.seed,
        "images": args.images or "scikit-learn's two photographs",
        "checkpoints": dict(zip(args.models, _per_model(args.checkpoints, args.models))),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        numbers = {name: finding.numbers for name, finding in findings.items()}
        temporary.write_text(json.dumps({**about, "models": numbers}, indent=1))


def _sample_photographs() -> list[np.ndarray]:
    try:
        from sklearn.datasets import load_sample_images
    except ImportError as error:
        raise UserError("scikit-learn, whose photographs are the default, is not installed: give --images") from error
    return load_sample_images().images


def _own_pictures(images: Sequence[str], most: int) -> list[np.ndarray]:
    return [read_image(file)[:, :, ::-1] for file in _picture_files(images)[:most]]


def _picture_files(images: Sequence[str]) -> list[Path]:
    files = [file for file, _ in find_images(list(images)) if not is_video(file)]
    if not files:
        raise UserError(f"--images {' '.join(images)}: no image found there")
    return files


def _per_model(checkpoints: Sequence[str], models: Sequence[str]) -> list[str | None]:
    if checkpoints and len(checkpoints) != len(models):
        raise UserError(
            f"--checkpoints has {len(checkpoints)} files for {len(models)} models: give one per model, 'none' where there is none"
        )
    return [None if file == "none" else file for file in checkpoints or ["none"] * len(models)]


def _name(target: str, taken: dict[str, Any]) -> str:
    """A model's short name in picture and JSON; the second of a name is called 'name (2)'."""
    stem = Path(target).stem if target.endswith(".py") else target
    count = 1 + sum(name == stem or name.startswith(f"{stem} (") for name in taken)
    return stem if count == 1 else f"{stem} ({count})"


def _fresh(cfg: Config) -> Config:
    """The config without the file its backbone would start from."""
    cfg = cfg.copy()
    if "backbone" in cfg.model:
        cfg.model.backbone.init_cfg = None
    return cfg


def _column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values).view(-1, 1, 1)


def _normalisation(model: nn.Module) -> tuple[Tensor, Tensor]:
    """Those of the model's preprocessor; ImageNet's where it does not normalise."""
    preprocessor = getattr(model, "data_preprocessor", None)
    mean, std = getattr(preprocessor, "mean", None), getattr(preprocessor, "std", None)
    return (_column(MEAN), _column(STD)) if mean is None or std is None else (mean, std)

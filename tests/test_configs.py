"""Every shipped config: loads, says what it must, survives a dump, stands alone, and describes the network it names."""

import ast
import functools
from collections import Counter
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
SHIPPED = sorted(path for path in CONFIGS.glob("*/*.py") if path.parent.name != "_base_")
every_config = pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)

#: Data set of a config -> the environment variable that says where it lies.
ROOTS = {"coco": "COCO_ROOT", "ade20k": "ADE20K_ROOT", "in1k": "IMAGENET_ROOT", "digits": "DIGITS_ROOT"}

#: Parameters of the backbones: the paper's 1000-class models without their head (769,000), and 2 C for every output norm but
#: that of the last stage, which the paper's models have too. Outputs: all four levels, the last three, the last one.
BACKBONES = {
    "swin-csan-t": {4: 28_734_462, 3: 28_734_270, 1: 28_733_118},
    "swin-csan-s": {4: 51_045_678, 3: 51_045_486, 1: 51_044_334},
    "swin-csan-v2-t": {4: 28_955_262, 3: 28_955_070, 1: 28_953_918},
    "swin-csan-v2-s": {4: 51_496_878, 3: 51_496_686, 1: 51_495_534},
    "swin-csan-min": {1: 11_428_071},
    "swin-csan-micro": {1: 21_175_221},
    "swin-csan-ts": {1: 12_801_812},
    "swin-csan-b": {1: 90_650_952},
    "swin-csan-v2-min": {1: 11_500_071},
    "swin-csan-v2-b": {1: 91_252_552},
    "swin-csan-headwise-t": {1: 28_197_810},
    # Attention-only stacks: 8.6M, 9.5M, 11.8M and 13.6M with a classifier in the paper.
    "swin-attention-min": {1: 7_859_466},
    "swin-csan-attention-min": {1: 8_742_126},
    "swin-attention-wide-min": {1: 11_004_831},
    "swin-csan-attention-wide-min": {1: 12_799_941},
    # The plain networks as they are published, without head; Min counted by timm's Swin of its sizes.
    "swin-min": {1: 10_986_741},
    "swin-t": {3: 27_519_354 + 2 * (192 + 384), 1: 27_519_354},
    "swin-s": {1: 48_837_258},
    "swin-b": {1: 86_743_224},
    "vit-b": {1: 85_798_656},
    "hiera-b": {1: 50_755_968},
    "vit-csan-t": {1: 5_773_896},
    "vit-csan-s": {1: 22_651_920},
    "vit-csan-bs": {1: 40_072_896},
    "vit-csan-b": {1: 89_720_352},
    # A 64 x 64 grid of positions, no class token and no last norm; a 32 x 32 grid, no last norm, a pyramid.
    "vit-csan-s_simple-fpn": {1: 24_147_984},
    "vit-csan-b_simple-fpn": {1: 92_712_480},
    "vit-csan-s_upernet": {4: 24_740_496},
    "vit-csan-b_upernet": {4: 97_436_448},
    "hiera-csan-t": {4: 28_321_658, 1: 28_320_314},
    "hiera-csan-tp": {1: 28_332_510},
    "hiera-csan-s": {1: 35_746_138},
    "hiera-csan-bs": {1: 29_925_888},
    "hiera-csan-b": {4: 53_029_488, 1: 53_028_144},
    "hiera-csan-bp": {1: 72_096_280},
    # MAViT: the paper's count without its classifier for one output, and 2 C for every output norm of the others.
    "mavit-t": {4: 13_347_328, 3: 13_347_200, 1: 13_345_408},
    "mavit-s": {4: 24_040_896, 3: 24_040_768, 1: 24_038_848},
    "mavit-b": {4: 46_691_296, 3: 46_691_104, 1: 46_688_928},
    "mavit-l": {4: 93_561_760, 3: 93_561_568, 1: 93_559_008},
    # The ablations have its parameters; learned beta and gamma are one number per head of its four MALA blocks each.
    **{f"mavit-{kind}-t": {1: 13_345_408} for kind in ("no-beta", "no-gamma", "relu", "exp")},
    "mavit-learnable-t": {1: 13_345_408 + 2 * (2 * 1 + 2 * 2)},
    # DeiT as it is published, without head.
    **{f"deit-{kind}t": {1: 5_524_416} for kind in ("", "unit-queries-", "linear-")},
    "deit-s": {1: 21_665_664},
    # A 64 x 64 grid of positions, no class token and no last norm; a 32 x 32 grid and WeightFormer's pyramid, its norm the last.
    "deit-t_simple-fpn": {1: 5_524_416 + 3896 * 192},
    "deit-s_upernet": {4: 21_665_664 + 828 * 384 + 3 * (4 * 384**2 + 384)},
    # DeiT-T and DeiT-S, and Swin-T and Swin-S as they are published, without head and position bias tables; a gate (C^2 + C) and
    # a 5x5 convolution (26 C) in each block, in DeiT also a 3x3 one of the hidden width (10 4C).
    "vit-mala-t": {1: 5_524_416 + 12 * (192 * 193 + 192 * 26 + 10 * 768)},
    "vit-mala-s": {1: 21_665_664 + 12 * (384 * 385 + 384 * 26 + 10 * 1536)},
    "swin-mala-t": {1: 29_771_808},
    "swin-mala-s": {1: 52_959_264},
    # WeightFormer: the paper's count without its classifier; for UPerNet also three output norms (2 C each) and the pyramid:
    # three deconvolutions (4 C^2 + C each) and a norm.
    "weightformer-t": {1: 6_881_184, 4: 7_325_664},
    # Eleven more blocks with a norm, and with predictors of a linear layer (C + 4C) / 4 wide and of a convolution C wide.
    "weightformer-all-dynamic-t": {
        1: 6_881_184 + 11 * (2 * 192 + 193 * 240 + 48 * 192 + 192 * 768 + 192 * 193 + 192 * 192),
    },
    "weightformer-s": {1: 27_107_136, 4: 28_880_832},
    "weightformer-b": {1: 27_107_136},
    # Digits; windows of 4 cells and version 2.
    "swin-csan-c48": {4: 3_385_455, 1: 3_384_783},
    # CBT: the paper's count without its classifier; positions of 32 x 32 and 64 x 64 grids in place of 14 x 14.
    "cbt-t": {1: 1_596_192},
    "cbt-s": {1: 6_282_048},
    # Without step sizes: CBSA has two for each of 3 or 6 heads in 12 blocks, TSSA a temperature for each.
    **{f"cbt-no-contraction-{size}": {1: count} for size, count in (("t", 1_596_192), ("s", 6_282_048))},
    **{f"cbt-mssa-{size}": {1: count} for size, count in (("t", 1_596_192 - 12 * 6), ("s", 6_282_048 - 12 * 12))},
    **{f"cbt-tssa-{size}": {1: count} for size, count in (("t", 1_596_192 - 12 * 3), ("s", 6_282_048 - 12 * 6))},
    "cbt-b": {1: 24_922_752},
    "cbt-l": {1: 82_026_368},
    "cbt-s_upernet": {1: 6_282_048 + 828 * 384},
    "cbt-b_upernet": {1: 24_922_752 + 828 * 768},
    "cbt-s_simple-fpn": {1: 6_282_048 + 3900 * 384},
    "cbt-b_simple-fpn": {1: 24_922_752 + 3900 * 768},
    # Under the CBT decoder plain ViTs, timm's counts without head; positions of 32 x 32 and 40 x 40 grids.
    "vit-t_cbt": {1: 5_524_416 + 828 * 192},
    "vit-s_cbt": {1: 21_665_664 + 828 * 384},
    "vit-b_cbt": {1: 85_798_656 + 828 * 768},
    "vit-l_cbt": {1: 303_301_632 + 1404 * 1024},
    # CBSA's form of a ViT, linear attention on its weights and the ViT itself: timm's counts without head; positions of 24 x 24
    # at 384 pixels.
    **{
        f"vit-{kind}-{size}{ending}": {1: count + extra * width}
        for kind in ("cbsa", "cbsa-nc", "linear", "tuned")
        for size, count, width in (
            ("t", 5_524_416, 192),
            ("s", 21_665_664, 384),
            ("b", 85_798_656, 768),
            ("l", 303_301_632, 1024),
        )
        for ending, extra in (("", 0), ("_8xb64_in1k-384px", 380))
    },
    # Under the decoder images are twice as large: positions of 8 x 8 in place of 4 x 4.
    "vit-c64": {1: 216_640},
    "vit-c64_cbt": {1: 216_640 + 192 * 64},
    "cbt-c128": {1: 299_440},
    "cbt-c128_cbt": {1: 299_440 + 48 * 128},
    "cbt-softmax-c128": {1: 299_440 + 4 * (2 * 128**2 + 3 * 128 - 2 * 4)},
    "cbt-softmax-c128_cbt": {1: 299_440 + 48 * 128 + 4 * (2 * 128**2 + 3 * 128 - 2 * 4)},
}


@functools.cache
def load(path: Path) -> Config:
    """A config that is only read."""
    return Config.fromfile(path)


def test_there_are_configs() -> None:
    assert len(SHIPPED) > 20


def test_names_are_unique() -> None:
    # mim looks a config's name up in the whole repository and refuses one that it finds twice.
    folders = ("configs", "csan_mm", "tests", "tools")
    names = Counter(path.name for folder in folders for path in (CONFIGS.parent / folder).rglob("*.py"))
    assert not [path.name for path in CONFIGS.rglob("*.py") if names[path.name] > 1]


@every_config
def test_says_what_every_config_must(path: Path) -> None:
    cfg = load(path)
    assert cfg.custom_imports == {"imports": ["csan_mm"], "allow_failed_imports": False}
    assert cfg.default_scope in ("mmdet", "mmseg", "mmpretrain")
    assert cfg.model.backbone.type.startswith("csan_mm.")
    assert cfg.auto_scale_lr.enable is False
    assert cfg.auto_scale_lr.base_batch_size % cfg.train_dataloader.batch_size == 0
    assert cfg.load_from is None
    assert cfg.resume is False


@every_config
def test_survives_a_dump(path: Path, tmp_path: Path) -> None:
    cfg = load(path)
    cfg.dump(tmp_path / "dumped.py")
    assert Config.fromfile(tmp_path / "dumped.py").to_dict() == cfg.to_dict()


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.py")), ids=lambda path: path.stem)
def test_stands_alone(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for base in _bases(tree):
        assert "::" not in base
        assert (path.parent / base).resolve().is_relative_to(CONFIGS)


def _bases(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "_base_":
            value = ast.literal_eval(node.value)
            return [value] if isinstance(value, str) else value
    return []


@every_config
def test_header_names_source_and_command(path: Path) -> None:
    text = path.read_text()
    header = text[: text.index("_base_ = ")]
    assert "# Paper: " in header
    assert "# Measured: " in header
    command = next(line for line in header.splitlines() if line.startswith("# Command: "))
    assert f" configs/{path.parent.name}/{path.name}" in command
    tool = next(word for word in command.split() if word.startswith("tools/"))
    assert (CONFIGS.parent / tool).exists()


@every_config
def test_data_come_from_one_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = next(variable for name, variable in ROOTS.items() if f"_{name}" in path.stem)
    monkeypatch.setenv(variable, "/somewhere/else")
    cfg = Config.fromfile(path)
    places = [entry for key in ("train", "val", "test") for entry in _places(cfg[f"{key}_dataloader"])]
    places += [entry for key in ("val", "test") for entry in _places(cfg[f"{key}_evaluator"])]
    assert len(places) >= 3
    assert all(place.startswith("/somewhere/else/") for place in [cfg.data_root, *places])


def _places(value: object) -> list[str]:
    """All values of ``data_root``, and the annotation files that stand without one."""
    if isinstance(value, (list, tuple)):
        return [place for entry in value for place in _places(entry)]
    if not isinstance(value, dict):
        return []
    own = [value["data_root"]] if "data_root" in value else [value["ann_file"]] if "ann_file" in value else []
    return own + [place for entry in value.values() for place in _places(entry)]


@every_config
def test_backbone_is_the_one_it_names(path: Path) -> None:
    cfg = load(path)
    with DefaultScope.overwrite_default_scope(cfg.default_scope), torch.device("meta"):
        backbone = MODELS.build(cfg.model.backbone)
    count = sum(parameter.numel() for parameter in backbone.parameters())
    assert count == expected_parameters(path, len(backbone.out_indices))


def expected_parameters(path: Path, outputs: int) -> int:
    """The count of the longest variant's name that the config's name contains."""
    variant = max((name for name in BACKBONES if f"{name}_" in f"{path.stem}_"), key=len)
    return BACKBONES[variant][outputs]


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSAN_MM_WEIGHTS", "nowhere")
    cfg = Config.fromfile(CONFIGS / "csan" / "retinanet_swin-csan-t_fpn_1x_coco.py")
    cfg.model.backbone.arch = "min"
    backbone = MODELS.build(cfg.model.backbone)
    with pytest.raises(FileNotFoundError, match=r"nowhere/swin_tiny_patch4_window7_224\.pth does not exist"):
        backbone.init_weights()

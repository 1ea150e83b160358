"""Recipes as the papers and their code have them: batches, learning rates at each epoch, transforms, evaluation."""

import math
import re
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper
from mmengine.registry import PARAM_SCHEDULERS

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SHIPPED = sorted(path for path in CONFIGS.glob("*/*.py") if path.parent.name != "_base_")
PER_NODE = 8
EPOCH_LENGTH = 7  # iterations


def header(path: Path) -> str:
    return path.read_text().partition("_base_ =")[0]


def processes(command: str) -> tuple[int, int]:
    """Number of nodes, and of processes on each, of a command in a header."""
    nodes = re.search(r"\bNNODES=(\d+)", command)
    launched = re.search(r"tools/dist_train\.sh \S+ (\d+)", command)
    return int(nodes[1]) if nodes else 1, int(launched[1]) if launched else 1


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_command_makes_the_batch_of_the_rate(path: Path) -> None:
    cfg = Config.fromfile(path)
    (command,) = [line for line in header(path).splitlines() if line.startswith("# Command: ")]
    nodes, per_node = processes(command)
    assert per_node <= PER_NODE, f"{per_node} processes on one node: say how many nodes"
    assert (nodes > 1) == ("NODE_RANK=" in command and "MASTER_ADDR=" in command)
    accumulated = cfg.optim_wrapper.get("accumulative_counts", 1)
    batch = nodes * per_node * cfg.train_dataloader.batch_size * accumulated
    assert batch == cfg.auto_scale_lr.base_batch_size
    named = re.search(r"_(\d+)xb(\d+)", path.stem)  # OpenMMLab's file names say processes x images
    if named:
        assert (nodes * per_node, cfg.train_dataloader.batch_size) == (int(named[1]), int(named[2]))


def rates(cfg: Config) -> list[float]:
    """The learning rate of every iteration, or of every epoch where the schedule has one rate per epoch."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=cfg.optim_wrapper.optimizer.lr)
    schedulers = [
        PARAM_SCHEDULERS.build(dict(entry), default_args={"optimizer": optimizer, "epoch_length": EPOCH_LENGTH})
        for entry in cfg.param_scheduler
    ]
    steps = cfg.train_cfg.max_epochs * (1 if schedulers[0].by_epoch else EPOCH_LENGTH)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    return found


def timm_cosine(epoch: float, lr: float, warmup: int, start: float, floor: float) -> float:
    """CosineLRScheduler of timm with warmup_prefix=False over 300 epochs."""
    if epoch < warmup:
        return start + (lr - start) * epoch / warmup
    return floor + (lr - floor) / 2 * (1 + math.cos(math.pi * min(epoch, 300) / 300))


def cbsa(epoch: float, lr: float = 2e-4, warmup: int = 20, epochs: int = 150) -> float:
    return lr * min((epoch + 1) / warmup, 0.5 * (math.cos(epoch / epochs * math.pi) + 1))


SCHEDULES = {
    "csan/swin-csan-t_8xb256_in1k": (310, lambda epoch: timm_cosine(epoch, 2e-3, 20, 1e-6, 1e-5)),
    "csan/vit-csan-b_8xb256_in1k": (310, lambda epoch: timm_cosine(epoch, 2e-3, 20, 1e-6, 1e-5)),
    "weightformer/weightformer-t_8xb256_in1k": (300, lambda epoch: timm_cosine(epoch, 2e-3, 20, 2e-6, 2e-5)),
    "weightformer/weightformer-b_16xb128_in1k-448px": (300, lambda epoch: timm_cosine(epoch, 2e-3, 20, 2e-6, 2e-5)),
    "mala/mavit-s_8xb128_in1k": (310, lambda epoch: timm_cosine(epoch, 1e-3, 5, 1e-6, 1e-5)),
    "mala/swin-mala-t_8xb128_in1k": (310, lambda epoch: timm_cosine(epoch, 1e-3, 5, 1e-6, 1e-5)),
    "cbsa/cbt-b_8xb32_in1k": (150, cbsa),
    "cbsa/vit-cbsa-t_8xb64_in1k": (50, lambda epoch: cbsa(epoch, 5e-5, 10, 50)),
    "cbsa/vit-linear-l_8xb64_in1k-384px": (50, lambda epoch: cbsa(epoch, 5e-5, 10, 50)),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_learning_rates(name: str) -> None:
    epochs, formula = SCHEDULES[name]
    found = rates(Config.fromfile(CONFIGS / f"{name}.py"))
    per_epoch = len(found) // epochs
    assert per_epoch in (1, EPOCH_LENGTH)
    assert (per_epoch == 1) == name.startswith(("mala", "cbsa"))
    for step, rate in enumerate(found):
        assert rate == pytest.approx(formula(step / per_epoch), rel=1e-9), step


def test_groups_keep_their_ratio_and_the_state_resumes() -> None:
    parameters = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (1.0, 0.1)]
    wrapper = OptimWrapper(torch.optim.SGD(parameters, lr=1.0))
    cfg = {"type": "csan_mm.WarmupCosineLR", "warmup": 2, "T_max": 6, "start_factor": 0.1, "eta_min_ratio": 0.5}
    first = PARAM_SCHEDULERS.build(dict(cfg), default_args={"optimizer": wrapper})
    for _ in range(3):
        wrapper.step()
        first.step()
    one, other, *_ = first.get_last_value()
    assert one == pytest.approx(0.75)
    assert other == pytest.approx(0.075)
    second = PARAM_SCHEDULERS.build(dict(cfg), default_args={"optimizer": wrapper})
    second.load_state_dict(first.state_dict())
    wrapper.step()
    second.step()
    assert second.get_last_value()[0] == pytest.approx(0.5 + 0.25 * (1 + math.cos(math.pi * 4 / 6)))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"warmup": 7}, "warmup=7 with T_max=6"),
        ({"eta_min": 0.1, "eta_min_ratio": 0.1}, "are two floors"),
    ],
    ids=["warm-up too long", "two floors"],
)
def test_impossible_schedules_are_named(options: dict, named: str) -> None:
    cfg = {"type": "csan_mm.WarmupCosineLR", "warmup": 2, "T_max": 6, "start_factor": 0.1, **options}
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    with pytest.raises(ValueError, match=named):
        PARAM_SCHEDULERS.build(cfg, default_args={"optimizer": optimizer, "epoch_length": 3})


#: Family -> type, size and interpolation of the test resize, crop, and interpolation of the training crop.
TRANSFORMS = {
    "csan": ("ResizeEdge", 248, "bicubic", 224, "bicubic"),  # int(224 / 0.9)
    "mala": ("ResizeEdge", 256, "bicubic", 224, "bicubic"),
    "weightformer": ("Resize", (256, 256), "bicubic", 224, "bicubic"),
    "cbsa": ("ResizeEdge", 256, "bilinear", 224, "bilinear"),
    "448px": ("Resize", (512, 512), "bicubic", 448, "bicubic"),
    "384px": ("ResizeEdge", 438, "bilinear", 384, "bilinear"),
}


@pytest.mark.parametrize("path", [path for path in SHIPPED if "_in1k" in path.stem], ids=lambda path: path.stem)
def test_image_sizes(path: Path) -> None:
    key = next(key for key in ("448px", "384px", path.parent.name) if key in path.stem or key == path.parent.name)
    kind, scale, test_mode, crop, train_mode = TRANSFORMS[key]
    cfg = Config.fromfile(path)
    for loader in (cfg.val_dataloader, cfg.test_dataloader):
        resize, cut = loader.dataset.pipeline[1:3]
        assert (resize.type, resize.interpolation, resize.backend) == (kind, test_mode, "pillow")
        assert resize.scale == scale
        assert resize.get("edge", "short") == "short"
        assert not resize.get("keep_ratio")
        assert (cut.type, cut.crop_size) == ("CenterCrop", crop)
    first = cfg.train_dataloader.dataset.pipeline[1]
    assert (first.type, first.scale, first.interpolation) == ("RandomResizedCrop", crop, train_mode)


@pytest.mark.parametrize(("kind", "interval"), [("upernet", 8000), ("fpn", 4000)])
def test_mavit_is_evaluated_as_its_authors_do(kind: str, interval: int) -> None:
    paths = list((CONFIGS / "mala").glob(f"mavit-*_{kind}_*_ade20k-*.py"))
    assert len(paths) == 4
    for path in paths:
        cfg = Config.fromfile(path)
        assert cfg.train_cfg.val_interval == interval
        assert cfg.default_hooks.checkpoint.interval == interval
        assert cfg.default_hooks.checkpoint.get("save_best") == ("mIoU" if kind == "upernet" else None)


def test_mixed_precision_stands_in_the_commands() -> None:
    for path in SHIPPED:
        text = header(path)
        if re.match(r"cbt-._8xb32|vit-(cbsa|linear|tuned)|mavit-.*(in1k|upernet)|weightformer-[ts]_8xb256", path.stem):
            assert " --amp" in text, path.stem
    assert " --amp" not in header(CONFIGS / "weightformer" / "weightformer-b_16xb128_in1k-448px.py")

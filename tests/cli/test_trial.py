"""The trial step: what would stop the training stops preflight, and a good config goes through, in all three libraries."""

from collections.abc import Callable
from pathlib import Path

import pytest
from mmengine.config import Config

from csan_mm.cli.preflight import check_config
from csan_mm.cli.trial import _with_small_pictures, trial
from csan_mm.common.data_root import override_data_root
from csan_mm.common.findings import Finding, Severity
from csan_mm.datasets import DigitsSpec, build_digits
from csan_mm.preflight.coco import AnnotationFile

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "digits"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trial") / "digits"
    build_digits(root, DigitsSpec(train_count=6, val_count=4, image_size=(48, 64)))
    return root


@pytest.fixture
def detector(data: Path) -> Callable[[dict], Config]:
    def make(changes: dict) -> Config:
        cfg = Config.fromfile(CONFIGS / "retinanet_swin-csan-c48_fpn_12e_digits.py")
        override_data_root(cfg, cfg.data_root, str(data / "coco"))
        cfg.merge_from_dict(changes)
        return cfg

    return make


def tried(cfg: Config) -> list[Finding]:
    files: dict[str, AnnotationFile] = {}
    findings = list(check_config(cfg, files=files))
    assert [finding for finding in findings if finding.severity is Severity.FAULT] == []
    return list(trial(cfg, files, with_data=True))


def only_fault(cfg: Config) -> str:
    findings = tried(cfg)
    assert [finding.severity for finding in findings] == [Severity.FAULT], findings
    return findings[0].says


def test_good_config_goes_through(detector):
    findings = tried(detector({}))
    assert [finding.severity for finding in findings] == [Severity.NOTE], findings
    assert findings[0].says.startswith("the model went through one training step and one evaluation")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model.backbone.arch": "tinny"}, "arch='tinny' is unknown"),
        ({"model.backbone.type": "csan_mm.SwinCSAN"}, "SwinCSAN is not in the "),
        (
            {"model.backbone.init_cfg": {"type": "csan_mm.Pretrained", "checkpoint": "none.pth", "source": "ms-swin"}},
            "none.pth",
        ),
        ({"train_dataloader.batch_size": 0}, "batch_size"),
        ({"load_from": "nowhere.pth"}, "nowhere.pth"),
        ({"model.neck.in_channels": [1, 2, 3, 4]}, "neck.in_channels=[1, 2, 3, 4] but SwinCSaN with out_indices="),
        ({"val_evaluator.metric": "box"}, "metric should be one of"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_would_stop_the_training(detector, changes, says):
    assert says in only_fault(detector(changes))


def test_small_pictures_of_an_evaluation_are_resized_once():
    """A second Resize would overwrite the factor by which predicted boxes go back to the original picture."""
    resize = {"type": "Resize", "scale": (1333, 800), "keep_ratio": True}
    pipeline = [{"type": "LoadImageFromFile"}, resize, {"type": "LoadAnnotations"}, {"type": "PackDetInputs"}]
    kinds = [step["type"] for step in _with_small_pictures(pipeline, "val")]
    assert kinds == [step["type"] for step in pipeline]
    assert _with_small_pictures(pipeline, "val")[1]["scale"] == (256, 256)
    assert [step["type"] for step in _with_small_pictures(pipeline, "train")].count("Resize") == 2


@pytest.mark.parametrize(
    ("crop", "kept"), [((64, 64), True), ([256, 128], True), (96, True), ((512, 512), False), ((0.5, 0.5), False)]
)
def test_a_small_crop_is_not_enlarged(crop, kept):
    """Pictures of several shapes would come of it, and the model's padding, which is the crop's, would not make them one."""
    pipeline = [{"type": "LoadImageFromFile"}, {"type": "RandomCrop", "crop_size": crop}, {"type": "PackSegInputs"}]
    small = [step["type"] for step in _with_small_pictures(pipeline, "train")]
    assert small == [step["type"] for step in pipeline] if kept else small[-2:] == ["Resize", "PackSegInputs"]

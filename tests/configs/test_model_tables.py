"""The pages' tables are those of the metafiles, and the metafiles' counts those of the configs."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("model_tables", ROOT / "tools" / "misc" / "model_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = tool()
#: The rest are slow tests.
QUICK = (
    "swin-csan-min_8xb256_in1k",
    "mavit-t_8xb128_in1k",
    "weightformer-t_8xb256_in1k",
    "cbt-t_8xb32_in1k",
    "vit-csan-t_8xb256_in1k",
    "hiera-csan-t_8xb256_in1k",
    "hiera-csan-t_upernet_8xb2-160k_ade20k-512x512",
    "vit-t_cbt_8xb1-160k_ade20k-512x512",
    "faster-rcnn_mavit-t_fpn_1x_coco",
)


@pytest.mark.parametrize(("page", "family"), TOOL.pages().items(), ids=lambda value: getattr(value, "parent", value))
def test_page_has_the_metafile_s_tables(page: Path, family: str | None) -> None:
    text = page.read_text()
    assert len(TOOL.PLACE.findall(text)) == (3 if family else 1)
    assert TOOL.with_tables(text, family) == text, "run tools/misc/model_tables.py --write"


def test_the_overview_gives_row_config_command_figure_and_counts() -> None:
    text = TOOL.overview()
    assert (
        "| WeightFormer | COCO: ViTDet with Cascade Mask R-CNN, DeiT-T | [cascade-mask-rcnn_deit-t_simple-fpn_lsj-100e_coco]"
        "(../configs/weightformer/cascade-mask-rcnn_deit-t_simple-fpn_lsj-100e_coco.py) "
        "| `NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh CONFIG 8` | 44.4 / 38.1 box / mask AP | 594G "
    ) in text
    assert (
        "](../configs/csan/retinanet_swin-t_fpn_1x_coco.py) | `tools/dist_train.sh CONFIG 8` | 37.3 box AP | - " in text
    )
    assert "| MALA | Ablation, MAViT-T: no gamma |" in text
    assert "`tools/dist_train.sh CONFIG 8 --amp` | diverges | - |" in text


def counted() -> list:
    return [
        pytest.param(entry, id=entry["Name"], marks=[] if entry["Name"] in QUICK else [pytest.mark.slow])
        for family in TOOL.FAMILIES
        for entry in TOOL.entries(family)
    ]


@pytest.mark.parametrize("entry", counted())
def test_counts_are_the_config_s(entry: dict) -> None:
    found = TOOL.count(ROOT / entry["Config"])
    assert int(found.pop("Parameters")) == entry["Metadata"]["Parameters"]
    assert found.pop("Image", None) == entry["Metadata"].get("Image")
    assert len(found) == 2
    for key, value in found.items():
        assert float(value) == pytest.approx(entry["Metadata"][key], rel=1e-3)


def test_a_stale_table_is_noticed() -> None:
    place = "<!-- table of the ImageNet configs mavit-t*, by tools/misc/model_tables.py -->\n"
    renewed = TOOL.with_tables(f"text\n{place}\n| old |\n\n<!-- end of the table -->\nmore", "mala")
    assert "| old |" not in renewed
    assert "| [mavit-t_8xb128_in1k.py](mavit-t_8xb128_in1k.py) | 16,449,128 |" in renewed
    assert renewed.startswith(f"text\n{place}")
    assert renewed.endswith("<!-- end of the table -->\nmore")

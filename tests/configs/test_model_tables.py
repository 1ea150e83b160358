"""The READMEs' tables are those of the metafiles, and the metafiles' counts those of the configs."""

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
QUICK = ("swin-csan-min", "mavit-t", "weightformer-t", "cbt-t")


@pytest.mark.parametrize("family", TOOL.FAMILIES)
def test_readme_has_the_metafile_s_table(family: str) -> None:
    readme = (ROOT / "configs" / family / "README.md").read_text()
    assert TOOL.PLACE.search(readme)
    assert TOOL.with_tables(readme, family) == readme, "run tools/misc/model_tables.py --write"


def counted() -> list:
    return [
        pytest.param(entry, id=entry["Name"], marks=[] if entry["Name"].split("_")[0] in QUICK else [pytest.mark.slow])
        for family in TOOL.FAMILIES
        for entry in TOOL.entries(family)
        if "GMACs" in entry["Metadata"]
    ]


@pytest.mark.parametrize("entry", counted())
def test_counts_are_the_config_s(entry: dict) -> None:
    found = TOOL.count(ROOT / entry["Config"])
    assert int(found["Parameters"]) == entry["Metadata"]["Parameters"]
    for key in ("GMACs", "GMACs without products"):
        assert float(found[key]) == pytest.approx(entry["Metadata"][key], rel=1e-3)


def test_a_stale_table_is_noticed() -> None:
    place = "<!-- table of the ImageNet configs mavit-t*, by tools/misc/model_tables.py -->\n"
    renewed = TOOL.with_tables(f"text\n{place}\n| old |\n\n<!-- end of the table -->\nmore", "mala")
    assert "| old |" not in renewed
    assert "| [mavit-t_8xb128_in1k.py](mavit-t_8xb128_in1k.py) | 16,449,128 |" in renewed
    assert renewed.startswith(f"text\n{place}")
    assert renewed.endswith("<!-- end of the table -->\nmore")

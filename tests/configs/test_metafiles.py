"""What the metafiles say of a config is what the config says."""

import re
from pathlib import Path

import pytest
import yaml
from mmengine.config import Config

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
#: Collections without entries are allowed: mim looks configs up by path, an entry tells it of figures.
LISTS = {
    path.parent: entries
    for path in CONFIGS.glob("*/metafile.yml")
    if (entries := yaml.safe_load(path.read_text()).get("Models"))
}
ENTRIES = [entry for entries in LISTS.values() for entry in entries]


@pytest.mark.parametrize("folder", LISTS, ids=lambda folder: folder.name)
def test_lists_a_config_once(folder: Path) -> None:
    listed = [entry["Config"] for entry in LISTS[folder]]
    there = {path.relative_to(CONFIGS.parent).as_posix() for path in folder.glob("*.py")}
    assert len(listed) == len(set(listed))
    assert set(listed) == there


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["Name"])
def test_entry_agrees_with_its_config(entry: dict) -> None:
    path = CONFIGS.parent / entry["Config"]
    cfg, metadata = Config.fromfile(path), entry["Metadata"]
    assert entry["Name"] == path.stem
    assert "Weights" not in entry
    assert metadata.get("Epochs") == cfg.train_cfg.get("max_epochs")
    assert metadata.get("Iterations") == cfg.train_cfg.get("max_iters")
    header = path.read_text().partition("_base_ =")[0]
    for result in entry.get("Results", []):
        for name, figure in result["Metrics"].items():
            assert name.endswith((" (paper)", " (measured)"))
            assert not name.endswith("(paper)") or re.search(rf"[ :]{re.escape(str(figure))}[ ,]", header)
    facts = {key: str(value) for key, value in metadata.items() if key.endswith("(paper)")}
    assert not [key for key, value in facts.items() if key != "FLOPs (paper)" and value not in header]


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if "digits" not in entry["Name"]], ids=lambda e: e["Name"]
)
def test_entry_has_counts_and_a_row_where_the_paper_has_a_figure(entry: dict) -> None:
    metadata = entry["Metadata"]
    assert {"Parameters", "GMACs"} <= set(metadata)
    reported = [name for result in entry.get("Results", []) for name in result["Metrics"] if name.endswith("(paper)")]
    assert bool(reported) == ("Row" in metadata and "Note (paper)" not in metadata)

"""The documentation's site: packages without circles, links that hold, pictures of every family. `make docs` builds all of it."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def site(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repo_root / "tools" / "misc"))
    for name in ("docs_site", "docs_site.pictures", "docs_site.stage", "docs_site.api"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return lambda name: importlib.import_module(f"docs_site.{name}")


def test_packages_use_each_other_in_one_direction(site, repo_root):
    pictures = site("pictures")
    graph = pictures.uses()
    rows = pictures.layers(graph)
    assert rows[0] == ["common"]
    assert rows[-1] == ["commands"]
    assert sum(map(len, rows)) == len(graph) > 12
    page = (repo_root / "docs" / "architecture.md").read_text()
    table = page[page.index("| folder |") : page.index("## Where")]
    assert {name for name in graph if f"`{name}`" not in table} == set()


def test_a_circle_is_named(site):
    with pytest.raises(ValueError, match="in a circle: a, b"):
        site("pictures").layers({"a": {"b"}, "b": {"a"}, "c": set()})


def test_pictures_are_drawn_from_the_code(site, tmp_path):
    pictures = site("pictures")
    pictures.draw_packages(tmp_path / "packages.png")
    for name in pictures.DRAWN:
        pictures.draw_backbone(name, tmp_path / f"{name}.png")
    assert all(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))
    assert len(list(tmp_path.glob("*.png"))) == 1 + len(pictures.DRAWN)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("mavit-tiny", ["stage 1: 2 blocks\n64 channels\nMALA", "stage 4: 2 blocks\n512 channels\nsoftmax"]),
        ("cbt-tiny", ["12 blocks\n192 channels\nCBSA"]),
        ("weightformer-tiny", ["17 blocks\n192 channels\nstatic / dynamic"]),
    ],
)
def test_what_a_picture_says(site, name, texts):
    import csan_mm

    stages = [text for text, _ in site("pictures")._stages(csan_mm.get_backbone(name))]
    assert [stages[0], *stages[1:][-1:]] == texts


def test_links_of_a_page_hold_on_the_site(site, repo_root):
    renew = site("stage").for_the_site
    page = Path("docs") / "page.md"
    assert renew("[a](install.md) [b](https://x.org/y)", page, repo_root) == "[a](install.md) [b](https://x.org/y)"
    assert renew("[the mixer](../csan_mm/mixers/csan.py)", page, repo_root) == (
        "[the mixer](../api/mixers.md#csan_mm.mixers.csan)"
    )
    assert renew("[digits](../configs/digits/)", page, repo_root) == "[digits](../configs/digits/README.md)"
    assert renew("[all](../configs)", page, repo_root) == "all"
    assert renew("[a test](../tests/test_configs.py)", page, repo_root) == "a test"
    assert renew("```python title=my/file.py\npass\n```", page, repo_root).startswith('```python title="my/file.py"\n')


def test_the_reference_has_every_public_package(site, repo_root, tmp_path):
    api = site("api")
    entries = api.write_pages(tmp_path, {"csan_mm.backbones.swin": ["swin.png"]})
    assert {"Mixers": "api/mixers.md"} in entries
    assert "::: csan_mm.mixers.csan" in (tmp_path / "api" / "mixers.md").read_text()
    assert "![Architecture](swin.png)" in (tmp_path / "api" / "backbones.md").read_text()
    named = {path.stem for path in (tmp_path / "api").glob("*.md")}
    internal = {"cli", "commands", "common", "doctor", "own_data", "preflight"}
    assert named | internal == {path.parent.name for path in (repo_root / "csan_mm").glob("*/__init__.py")} | {"zoo"}

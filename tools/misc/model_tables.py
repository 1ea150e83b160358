"""Count the configs, keep the counts in the metafiles, and write the tables of the READMEs and of docs/reproducing.md from these.

python tools/misc/model_tables.py            # compare the tables with the metafiles; exit status 1 where they differ
python tools/misc/model_tables.py --write    # write the tables
python tools/misc/model_tables.py --count    # count what has no count yet, into the metafiles, and write the tables

A metafile's entry holds, under Metadata, Parameters of the whole model and GMACs (multiply-accumulates of one image, our count).
Of an ImageNet config it also holds GMACs without products (the same without the products of tokens within an attention), of any
other GMACs of backbone and neck and the Image that was counted. What the papers report are FLOPs (paper), FLOPs of the backbone
(paper) and Parameters (paper), and Row says what their table calls the line. A table stands behind a line that says which
configs it lists.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("csan", "mala", "weightformer", "cbsa")
OVERVIEW = "docs/reproducing.md"
#: A data set's name in a table's line -> what the names of its configs contain.
DATA = {"ImageNet": "_in1k", "COCO": "_coco", "ADE20K": "_ade20k"}
#: A table's place in a page: the line before it names data set and configs; "the papers' figures" are all that papers report.
PLACE = re.compile(
    r"(<!-- table of (?:the (?P<data>\w+) configs (?P<names>\S+)|the papers' figures), by tools/misc/model_tables\.py -->\n)"
    r".*?(<!-- end of the table -->)",
    re.DOTALL,
)
CLASSIFIER_FACTS = ("GMACs", "GMACs without products", "FLOPs (paper)")
OTHER_FACTS = ("GMACs", "GMACs of backbone and neck", "FLOPs (paper)", "FLOPs of the backbone (paper)")
#: What a table reports of each data set.
METRICS = {"ImageNet": ("Top 1 Accuracy",), "COCO": ("box AP", "mask AP"), "ADE20K": ("mIoU",)}
METRIC_NAMES = {"ImageNet": "top-1", "COCO": "box / mask AP", "ADE20K": "mIoU"}


def entries(family: str, names: str = "*", data: str | None = None) -> list[dict]:
    """The entries of a family's metafile whose names fit a pattern, in its order; of one data set, or of all."""
    models = yaml.safe_load((ROOT / "configs" / family / "metafile.yml").read_text())["Models"]
    return [
        entry for entry in models if (data is None or DATA[data] in entry["Name"]) and fnmatch(entry["Name"], names)
    ]


def table(entries: list[dict], data: str) -> str:
    """A table of these entries of one data set in Markdown."""
    classifiers = data == "ImageNet"
    facts = CLASSIFIER_FACTS if classifiers else OTHER_FACTS
    head = ["config", *([] if classifiers else ["image"]), "parameters", *facts]
    rows = [_row([*head, *(f"{METRIC_NAMES[data]} ({kind})" for kind in ("paper", "measured"))])]
    rows.append("|" + "---|" * rows[0].count(" | ") + "---|")
    for entry in entries:
        name, metadata = Path(entry["Config"]).name, entry["Metadata"]
        cells = [f"[{name}]({name})", *([] if classifiers else [metadata.get("Image", "-")]), _parameters(metadata)]
        cells += [str(metadata.get(key, "-")) for key in facts]
        cells += [figure(entry, data, kind) for kind in ("paper", "measured")]
        rows.append(_row(cells))
    return "\n".join(rows)


def overview() -> str:
    """All configs of which a paper gives a figure: its row, the command, its figure, and the counts made here."""
    head = ["paper", "its row", "config", "command", "figure (paper)", "FLOPs (paper)", "parameters", "GMACs"]
    rows = [_row(head), "|" + "---|" * len(head)]
    for family in FAMILIES:
        reported = [entry for entry in entries(family) if "Row" in entry["Metadata"]]
        for entry in sorted(reported, key=lambda entry: entry["Metadata"]["Row"].partition(":")[0]):
            rows.append(_row(_overview_cells(entry)))
    return "\n".join(rows)


def _overview_cells(entry: dict) -> list[str]:
    path, metadata, data = ROOT / entry["Config"], entry["Metadata"], data_of(entry)
    what = figure(entry, data, "paper")
    if "Results" in entry:
        what += f" {METRIC_NAMES[data] if '/' in what or data != 'COCO' else 'box AP'}"
    cells = [
        entry["In Collection"],
        metadata["Row"],
        f"[{path.stem}](../{entry['Config']})",
        f"`{command(path)}`",
        what,
    ]
    return [*cells, str(metadata.get("FLOPs (paper)", "-")), _parameters(metadata), str(metadata["GMACs"])]


def data_of(entry: dict) -> str:
    """The data set of an entry, by the name of its config."""
    return next(data for data, part in DATA.items() if part in entry["Name"])


def figure(entry: dict, data: str, kind: str) -> str:
    """What an entry's results say, such as '45.0 / 38.3'; '-' where they say nothing."""
    metrics = {name: value for result in entry.get("Results", []) for name, value in result["Metrics"].items()}
    found = [str(metrics[key]) for name in METRICS[data] if (key := f"{name} ({kind})") in metrics]
    return " / ".join(found) or entry["Metadata"].get(f"Note ({kind})", "-")


def command(config: Path) -> str:
    """The command in a config's header, with CONFIG for its path and without the remark at its end."""
    line = next(line for line in config.read_text().splitlines() if line.startswith("# Command: "))
    path = config.relative_to(ROOT).as_posix()
    return line.removeprefix("# Command: ").partition("  # ")[0].strip().replace(path, "CONFIG")


def with_tables(page: str, family: str | None) -> str:
    """A page with the tables that the metafiles give now; ``family`` is that of its tables of configs."""

    def renewed(place: re.Match) -> str:
        data = place["data"]
        text = table(entries(family, place["names"], data), data) if data else overview()
        return f"{place[1]}\n{text}\n\n{place[4]}"

    return PLACE.sub(renewed, page)


def pages(families: Iterable[str] = FAMILIES) -> dict[Path, str | None]:
    """The pages with tables, and the family of each."""
    return {**{ROOT / "configs" / family / "README.md": family for family in families}, ROOT / OVERVIEW: None}


def count(config: Path) -> dict[str, str]:
    """Parameters and GMACs of a config, as a metafile has them."""
    import torch
    from mmengine.config import Config

    import csan_mm  # noqa: F401
    from csan_mm.analysis.flops import count_classifier, count_model
    from csan_mm.analysis.models import build_model, training_shape

    cfg = Config.fromfile(config)
    cfg.model.backbone.init_cfg = None
    shape = training_shape(cfg)
    with torch.device("meta" if DATA["ImageNet"] in config.stem else "cpu"):
        model = build_model(cfg)
    parameters = {"Parameters": str(sum(parameter.numel() for parameter in model.parameters()))}
    if DATA["ImageNet"] in config.stem:
        macs, without = count_classifier(model, shape)
        return {**parameters, "GMACs": f"{macs / 1e9:.3f}", "GMACs without products": f"{without / 1e9:.3f}"}
    parts = count_model(model, shape)
    if not all(part.counted for part in parts):
        raise SystemExit(f"error: {config.name}: not every part can be counted, see above")
    macs = sum(part.macs for part in parts if not part.training_only)
    below = sum(part.macs for part in parts if part.name in ("backbone", "neck"))
    return {
        **parameters,
        "Image": f"{shape[0]} x {shape[1]}",
        "GMACs": f"{macs / 1e9:.1f}",
        "GMACs of backbone and neck": f"{below / 1e9:.1f}",
    }


def add_counts(family: str, names: str) -> None:
    """Count the family's configs of these names that have no counts, and write that into their entries."""
    path = ROOT / "configs" / family / "metafile.yml"
    for entry in entries(family, names):
        if "GMACs" in entry["Metadata"]:
            continue
        lines = "".join(f"      {key}: {value}\n" for key, value in count(ROOT / entry["Config"]).items())
        place = re.compile(rf"(  - Name: {re.escape(entry['Name'])}\n(?:    .*\n)*?      (?:Epochs|Iterations): \d+\n)")
        path.write_text(place.sub(lambda found, lines=lines: found[1] + lines, path.read_text(), count=1))
        print(entry["Name"], flush=True)


def _parameters(metadata: dict) -> str:
    return f"{metadata['Parameters']:,}" if "Parameters" in metadata else "-"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--count", action="store_true", help="count what has no count yet, and write the tables")
    parser.add_argument(
        "--names", default="*", metavar="PATTERN", help="count only configs of these names (default: *)"
    )
    parser.add_argument("--write", action="store_true", help="write the tables")
    args = parser.parse_args()
    families = args.families or FAMILIES
    if args.count:
        for family in families:
            add_counts(family, args.names)
    stale = []
    for page, family in pages(families).items():
        wanted = with_tables(page.read_text(), family)
        if wanted != page.read_text():
            stale.append(page.relative_to(ROOT).as_posix())
            if args.count or args.write:
                page.write_text(wanted)
    if stale and not (args.count or args.write):
        print(f"not as the metafiles have it: {', '.join(stale)}; run {Path(__file__).name} --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

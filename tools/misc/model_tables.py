"""Count the ImageNet configs, keep the counts in the metafiles, and write the READMEs' tables from these.

python tools/misc/model_tables.py            # compare the tables with the metafiles; exit status 1 where they differ
python tools/misc/model_tables.py --write    # write the tables
python tools/misc/model_tables.py --count    # count what has no count yet, into the metafiles, and write the tables

A metafile's entry holds, under Metadata, Parameters, GMACs (multiply-accumulates of one image, our count), GMACs without products
(the same without the products of tokens within an attention) and, where the paper has a figure, FLOPs (paper). The table stands
in the README behind a line that says which configs it lists.
"""

import argparse
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("csan", "mala", "weightformer", "cbsa")
#: A table's place in a README: the names of its configs stand in the line before it.
PLACE = re.compile(
    r"(<!-- table of the ImageNet configs (\S+), by tools/misc/model_tables\.py -->\n).*?(<!-- end of the table -->)",
    re.DOTALL,
)
COLUMNS = (
    "config",
    "parameters",
    "GMACs",
    "GMACs without products",
    "FLOPs (paper)",
    "top-1 (paper)",
    "top-1 (measured)",
)


def entries(family: str, names: str = "*") -> list[dict]:
    """The ImageNet entries of a family's metafile whose names fit a pattern, in its order."""
    models = yaml.safe_load((ROOT / "configs" / family / "metafile.yml").read_text()).get("Models") or []
    return [entry for entry in models if "_in1k" in entry["Name"] and fnmatch(entry["Name"], names)]


def table(entries: list[dict]) -> str:
    """A table of these entries in Markdown."""
    rows = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for entry in entries:
        facts = entry["Metadata"]
        metrics = {name: figure for result in entry.get("Results", []) for name, figure in result["Metrics"].items()}
        name = Path(entry["Config"]).name
        cells = [f"[{name}]({name})", f"{facts['Parameters']:,}" if "Parameters" in facts else "-"]
        cells += [str(facts.get(key, "-")) for key in COLUMNS[2:5]]
        cells += [str(metrics.get(f"Top 1 Accuracy ({kind})", "-")) for kind in ("paper", "measured")]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def with_tables(readme: str, family: str) -> str:
    """A README with the tables its metafile gives now."""
    return PLACE.sub(lambda place: f"{place[1]}\n{table(entries(family, place[2]))}\n\n{place[3]}", readme)


def count(config: Path) -> dict[str, str]:
    """Parameters and GMACs of a config, as a metafile has them."""
    import torch
    from mmengine.config import Config

    import csan_mm  # noqa: F401
    from csan_mm.analysis.flops import count_classifier
    from csan_mm.analysis.models import build_model, training_shape

    cfg = Config.fromfile(config)
    cfg.model.backbone.init_cfg = None
    with torch.device("meta"):
        model = build_model(cfg)
    macs, without = count_classifier(model, training_shape(cfg))
    return {
        "Parameters": str(sum(parameter.numel() for parameter in model.parameters())),
        "GMACs": f"{macs / 1e9:.3f}",
        "GMACs without products": f"{without / 1e9:.3f}",
    }


def add_counts(family: str, names: str) -> None:
    """Count the family's configs of these names that have no counts, and write that into their entries."""
    path = ROOT / "configs" / family / "metafile.yml"
    for entry in entries(family, names):
        if "GMACs" in entry["Metadata"]:
            continue
        lines = "".join(f"      {key}: {value}\n" for key, value in count(ROOT / entry["Config"]).items())
        place = re.compile(rf"(  - Name: {re.escape(entry['Name'])}\n(?:    .*\n)*?      Epochs: \d+\n)")
        path.write_text(place.sub(lambda found, lines=lines: found[1] + lines, path.read_text(), count=1))
        print(entry["Name"], flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--count", action="store_true", help="count what has no count yet, and write the tables")
    parser.add_argument(
        "--names", default="*", metavar="PATTERN", help="count only configs of these names (default: *)"
    )
    parser.add_argument("--write", action="store_true", help="write the tables")
    args = parser.parse_args()
    stale = []
    for family in args.families or FAMILIES:
        if args.count:
            add_counts(family, args.names)
        readme = ROOT / "configs" / family / "README.md"
        wanted = with_tables(readme.read_text(), family)
        if wanted != readme.read_text():
            stale.append(readme.relative_to(ROOT).as_posix())
            if args.count or args.write:
                readme.write_text(wanted)
    if stale and not (args.count or args.write):
        print(f"not as the metafiles have it: {', '.join(stale)}; run {Path(__file__).name} --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

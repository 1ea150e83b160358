"""Build the documentation's site: the pages of docs/ and configs/, and a reference of the public classes from their docstrings.

python tools/misc/build_docs.py [--out site]            # `make docs` installs what it needs first
python tools/misc/build_docs.py --packages PICTURE      # only the picture of docs/architecture.md

Nothing is fetched; a link that leads nowhere or a docstring that cannot be read ends it with status 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from docs_site.api import write_pages
from docs_site.pictures import DRAWN, draw_backbone, draw_packages
from docs_site.stage import stage

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(__file__).resolve().parent / "docs_site"


def build(out: Path) -> int:
    """Build the site into ``out``; the exit status of mkdocs."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder, "pages")
        stage(ROOT, pages)
        pictures: dict[str, list[str]] = {}
        for name, module in DRAWN.items():
            draw_backbone(name, pages / "api" / f"{name}.png")
            pictures.setdefault(module, []).append(f"{name}.png")
        cfg = yaml.safe_load((SITE / "mkdocs.yml").read_text())
        cfg |= {"docs_dir": str(pages), "site_dir": str(out.resolve())}
        cfg["nav"].insert(3, {"Reference": write_pages(pages, pictures)})
        handler = next(plugin["mkdocstrings"] for plugin in cfg["plugins"] if isinstance(plugin, dict))["handlers"][
            "python"
        ]
        handler["paths"] = [str(ROOT)]
        handler["options"]["extensions"] = [str(SITE / "roles.py")]
        config = Path(folder, "mkdocs.yml")
        config.write_text(yaml.safe_dump(cfg, sort_keys=False))
        return subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)],
            check=False,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # an advertisement of the theme's
        ).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="folder of the site (default: site)")
    parser.add_argument("--packages", type=Path, metavar="PICTURE", help="draw which package uses which, and no more")
    args = parser.parse_args()
    if args.packages:
        draw_packages(args.packages)
        return 0
    status = build(args.out)
    if status == 0:
        print(f"site: {args.out / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""``csan_mm configs``."""

import argparse
from pathlib import Path

HELP = "list the shipped configs, show one, or copy one to change"
EXAMPLE = "csan_mm configs retinanet --copy my/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("pattern", nargs="?", default="", help="only configs whose path contains it")
    parser.add_argument(
        "--show", action="store_true", help="print the one config that the pattern names, bases merged in"
    )
    parser.add_argument(
        "--copy", metavar="PATH", help="write a config there that inherits the one the pattern names, ready for changes"
    )


def run(args: argparse.Namespace) -> int:
    """List, show or copy."""
    from csan_mm.cli.errors import error_border
    from csan_mm.common.package_configs import configs_folder, shipped_configs

    with error_border(args.pattern):
        found = [path for path in shipped_configs() if args.pattern in str(path)]
        if not (args.show or args.copy):
            print("\n".join(map(str, found)) if found else f"no shipped config's path contains {args.pattern!r}")
            return 0 if found else 1
        name = _the_one(found, args.pattern)
        if args.show:
            from mmengine.config import Config

            print(Config.fromfile(configs_folder() / name).pretty_text)
        if args.copy:
            print(f"wrote {_inherit(name, Path(args.copy))}")
    return 0


def _the_one(found: list[Path], pattern: str) -> Path:
    from csan_mm.common.errors import UserError

    exact = [path for path in found if pattern in (path.name, path.stem, str(path))]
    if len(exact or found) != 1:
        names = ", ".join(path.stem for path in found[:5]) or "none"
        raise UserError(f"{pattern!r} names {len(found)} configs ({names}): give one name in full", exit_code=2)
    return (exact or found)[0]


def _inherit(name: Path, target: Path) -> Path:
    from csan_mm.common.errors import UserError

    target = target / name.name if target.suffix != ".py" else target
    if target.exists():
        raise UserError(f"{target} exists already: name another, or remove it", exit_code=2)
    target.parent.mkdir(parents=True, exist_ok=True)
    advice = f"# What you set here overrides the base; csan_mm configs {name.stem} --show prints it."
    target.write_text(f'_base_ = "csan_mm::{name.as_posix()}"\n\n{advice}\n')
    return target

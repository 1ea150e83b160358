"""Copies the repository's pages and what they point at to a folder of their own, with links that hold on a site."""

import re
import shutil
from pathlib import Path

#: What pages point at.
KEPT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "docs", "configs", "requirements")
_LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_FENCE = re.compile(r"^```(\w+) title=(\S+)$", re.MULTILINE)


def stage(root: Path, target: Path) -> None:
    """Fill ``target`` with the pages below ``root`` and the files they show."""
    for name in KEPT:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    for page in target.rglob("*.md"):
        place = page.relative_to(target)
        page.write_text(for_the_site(page.read_text(encoding="utf-8"), place, root), encoding="utf-8")


def for_the_site(text: str, place: Path, root: Path) -> str:
    """A page whose links lead to pages of the site: modules to their reference, folders to their README, other code nowhere."""

    def renewed(link: re.Match) -> str:
        words, target = link[1], link[2]
        if _ELSEWHERE.match(target) or target.startswith("#"):
            return link[0]
        path = (root / place.parent / target.partition("#")[0]).resolve()
        inside = path.relative_to(root)
        up = "../" * (len(place.parts) - 1)
        if inside.parts[:1] == ("csan_mm",) and path.suffix == ".py":
            module = ".".join(inside.with_suffix("").parts)
            return f"{words}({up}api/{inside.parts[1].removesuffix('.py')}.md#{module})"
        if path.is_dir():
            return f"{words}({target.rstrip('/')}/README.md)" if (path / "README.md").is_file() else words[1:-1]
        return link[0] if inside.parts[0] in KEPT else words[1:-1]

    return _FENCE.sub(r'```\1 title="\2"', _LINK.sub(renewed, text))

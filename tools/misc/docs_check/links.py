"""What a page points at: relative links, and repository files that its prose names."""

import re
from collections.abc import Iterator

from docs_check.page import Page, Problem
from docs_check.repository import Repository

_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_CODE = re.compile(r"`([^`]+)`")
_HEADING = re.compile(r"^#+\s+(.*)$")


def check_links(page: Page) -> Iterator[Problem]:
    """Relative links lead to a file, and with ``#`` to a heading in it. Links to other hosts are not followed."""
    for number, line in page.prose:
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if _ELSEWHERE.match(target):
                continue
            name, _, anchor = target.partition("#")
            path = page.path.parent / name if name else page.path
            if not path.exists():
                yield Problem(page.name, number, f"the link to {target} leads nowhere")
            elif anchor and path.suffix == ".md" and anchor not in _anchors(path.read_text(encoding="utf-8")):
                yield Problem(page.name, number, f"the link to {target}: that page has no such heading")


def _anchors(text: str) -> set[str]:
    """Headings as GitHub names them in links."""
    headings = [found[1] for line in text.splitlines() if (found := _HEADING.match(line))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_named_files(page: Page, repository: Repository) -> Iterator[Problem]:
    """``tools/train.py`` and the like in running text exist."""
    for number, line in page.prose:
        for word in _CODE.findall(line):
            if repository.is_absent(word):
                yield Problem(page.name, number, f"{word} is not in the repository")

"""A Markdown page as its fenced blocks and what the comments in it say about them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RUN = ("bash", "python")
OUTPUT = ("text", "console")

_FENCE = re.compile(r"^(\s*)(`{3,})\s*(.*?)\s*$")
_COMMENT = re.compile(r"^\s*<!-- docs-check: (.*)$")
_DIRECTIVES = {
    "reason": re.compile(r"not run, (.+)"),
    "status": re.compile(r"exit (\d+)"),
    "printed": re.compile(r"(printed)"),
}
_KINDS = "'not run, REASON', 'exit N', 'printed' or 'first'"


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a page.

    Args:
        page: Its name.
        line: Where in it.
        says: What is wrong, in a line.
        output: The last lines that were printed, where something was run. Default: none.
    """

    page: str
    line: int
    says: str
    output: str = ""

    def __str__(self) -> str:
        shown = "".join(f"\n    {line}" for line in self.output.splitlines())
        return f"{self.page}:{self.line}: {self.says}{shown}"


@dataclass(frozen=True)
class Block:
    """A fenced block, or the commands of a ``first`` comment.

    Args:
        line: Of its first line of content.
        language: 'bash', 'python', 'text', ...
        code: Its content.
        title: The file it is written to. Default: none.
        reason: Why it is not run. Default: it is.
        status: The exit status it has to end with. Default: 0.
        printed: Whether this is output that has to be found in that of the block before. Default: False.
    """

    line: int
    language: str
    code: str
    title: str = ""
    reason: str = ""
    status: int = 0
    printed: bool = False

    @property
    def is_run(self) -> bool:
        """Whether it is made of commands and nothing says not to run them."""
        return self.language in RUN and not self.title and not self.reason

    @property
    def plan(self) -> str:
        """What is done with it, in a line."""
        first = self.code.strip().splitlines()[0] if self.code.strip() else ""
        if self.reason:
            return f"not run ({self.reason}): {first}"
        if self.title:
            return f"written to {self.title}"
        if self.is_run:
            return f"run by {self.language}: {first}"
        return "compared with the output" if self.printed else "output"


@dataclass
class Page:
    """A page.

    Args:
        path: Where it is.
        name: As it is called in messages: from the repository's root, where it lies there.
        blocks: In their order.
        prose: Its other lines, with their numbers.
        problems: What is wrong with its own form.
    """

    path: Path
    name: str
    blocks: list[Block] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_page(path: Path, root: Path) -> Page:
    """Read a page.

    Args:
        path: Of the Markdown file.
        root: Of the repository.
    """
    path = path.resolve()
    page = Page(path, str(path.relative_to(root)) if path.is_relative_to(root) else str(path))
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))
    about: dict[str, str] = {}
    for number, line in lines:
        if comment := _COMMENT.match(line):
            _read_comment(page, number, comment[1], lines, about)
        elif fence := _FENCE.match(line):
            _read_block(page, number, fence, lines, about)
            about = {}
        elif about and line.strip():
            page.problems.append(Problem(page.name, number, "a docs-check comment without a block behind it"))
            about = {}
        else:
            page.prose.append((number, line))
    return page


def _read_comment(page: Page, number: int, text: str, lines: Iterator[tuple[int, str]], about: dict[str, str]) -> None:
    if text.startswith("first"):
        content = []
        for _, line in lines:
            if line.strip() == "-->":
                break
            content.append(line)
        page.blocks.append(Block(number + 1, "bash", "\n".join(content)))
        return
    for name, pattern in _DIRECTIVES.items():
        if found := pattern.fullmatch(text.removesuffix("-->").strip()):
            about[name] = found[1]
            return
    page.problems.append(Problem(page.name, number, f"unknown docs-check comment: take {_KINDS}"))


def _read_block(
    page: Page, number: int, fence: re.Match[str], lines: Iterator[tuple[int, str]], about: dict[str, str]
) -> None:
    indent, ticks, info = fence.groups()
    content = []
    for _, line in lines:
        if line.strip() == ticks:
            break
        content.append(line.removeprefix(indent))
    language, _, title = info.partition(" title=")
    block = Block(
        number + 1,
        language,
        "\n".join(content) + "\n",
        title,
        about.get("reason", ""),
        int(about.get("status", 0)),
        "printed" in about,
    )
    page.blocks.append(block)
    page.problems += [Problem(page.name, number, says) for says in _misfits(block)]


def _misfits(block: Block) -> Iterator[str]:
    """Blocks that would otherwise be passed over in silence."""
    if not block.title and block.language not in (*RUN, *OUTPUT):
        yield f"a block in {block.language or 'no language'}: take {', '.join((*RUN, *OUTPUT))}, or give it a title=FILE"
    if block.printed != (block.language in OUTPUT) and (block.printed or block.status):
        yield "'printed' is for text and console blocks, 'exit' for others"
    if block.status and "\n" in block.code.replace("\\\n", "").strip():
        yield "a block with 'exit' holds one command"

"""Run every command of the Markdown pages, and check their links and the repository paths they name.

What the source of a page says:

* a ```bash block is run by ``bash -euo pipefail``, a ```python block by Python; one with ``title=FILE`` behind the language is
  written to that file instead; ```text and ```console blocks are output, and no other language is allowed;
* each page has one working folder, a fresh copy of the repository's files, and its blocks see what earlier ones wrote there;
* an HTML comment says what else there is to know about the next block:
  ``<!-- docs-check: not run, REASON -->``  only its syntax, and the paths, options and make targets in it, are checked;
  ``<!-- docs-check: exit 2 -->``           its one command has to end with this status;
  ``<!-- docs-check: printed -->``          each line of this output was printed by the block before ("…" stands for anything);
* commands in a comment ``<!-- docs-check: first ... -->`` are run too: stand-ins for files that a reader has from elsewhere.

``python`` is the one that runs this, no GPU is seen, and ``srun`` is a stand-in that starts its tasks on this machine.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from docs_check.links import check_links, check_named_files
from docs_check.page import Page, Problem, read_page
from docs_check.repository import Repository
from docs_check.run import run_page
from docs_check.unrun import check_unrun

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "configs/*/README.md")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help=f"Markdown files; default: {', '.join(PAGES)}")
    parser.add_argument("--list", action="store_true", help="list the blocks and what would be done with them")
    parser.add_argument("--no-run", action="store_true", help="check links, paths and options, and run nothing")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a block may take (default: 300)")
    return parser.parse_args()


def copy_repository(target: Path) -> list[str]:
    """Copy what git tracks or would track, as it is now, and return the paths from the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    names = [name for name in listed if (ROOT / name).is_file()]
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return names


def check_page(page: Page, repository: Repository, timeout: float | None) -> list[Problem]:
    """Everything about one page.

    Args:
        page: The page.
        repository: A copy of the repository.
        timeout: Seconds a block may take; ``None``: nothing is run.
    """
    problems = [*page.problems, *check_links(page), *check_named_files(page, repository)]
    problems += [problem for block in page.blocks if block.reason for problem in check_unrun(page, block, repository)]
    if timeout is not None and not page.problems:
        with tempfile.TemporaryDirectory(prefix="docs-check-") as parent:
            folder = shutil.copytree(repository.root, Path(parent) / "csan_mm")
            problems += run_page(page, folder, timeout)
    return problems


def main() -> int:
    """Check the pages and return the exit status: 0, or 1 where something is wrong."""
    args = parse_args()
    paths = args.pages or sorted(path for pattern in PAGES for path in ROOT.glob(pattern))
    pages = [read_page(path, ROOT) for path in paths]
    if args.list:
        for page in pages:
            for block in page.blocks:
                print(f"{page.name}:{block.line}: {block.plan}")
        return 0
    start, problems = time.time(), []
    with tempfile.TemporaryDirectory(prefix="docs-check-") as folder:  # the checkout may change meanwhile
        repository = Repository(Path(folder), copy_repository(Path(folder)))
        for page in pages:
            began = time.time()
            found = check_page(page, repository, None if args.no_run else args.timeout)
            problems += found
            print(f"{'FAILED' if found else 'ok':8}{time.time() - began:5.0f} s  {page.name}", flush=True)
    report(pages, problems)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = f"{time.time() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time"
    print(f"{len(pages)} pages, {len(problems)} problems, {seconds}")
    return 1 if problems else 0


def report(pages: list[Page], problems: list[Problem]) -> None:
    """Print what is wrong, and what was not run."""
    for problem in problems:
        print(f"\n{problem}")
    unrun = [(page, block) for page in pages for block in page.blocks if block.reason]
    count = sum(block.is_run for page in pages for block in page.blocks)
    print(f"\n{count} blocks of commands are run, {len(unrun)} are not{':' if unrun else ''}")
    for page, block in unrun:
        print(f"  {page.name}:{block.line}: {block.reason}")


if __name__ == "__main__":
    sys.exit(main())

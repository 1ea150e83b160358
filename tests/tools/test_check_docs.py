"""The checker of the pages: what fails is named by page and line, and nothing is passed over in silence."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from source_tree import tracked


@pytest.fixture
def check(tmp_path: Path, repo_root: Path) -> Callable[..., tuple[int, str]]:
    """Checks a page with this text; gives status and output, in which the page is called PAGE."""
    tracked(repo_root)  # skips where there is no git

    def run(text: str, *options: str) -> tuple[int, str]:
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        command = [sys.executable, str(repo_root / "tools" / "misc" / "check_docs.py"), str(page), *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert not done.stderr
        return done.returncode, done.stdout.replace(str(page), "PAGE")

    return run


def test_a_failing_command_is_named_with_its_line_and_output(check):
    code, output = check("# A page\n\n```bash\necho before\ncd tools &&\n  ls no-such-file\necho behind\n```\n")
    assert code == 1
    # bash counts a list of several lines from its last one
    assert "PAGE:6: exit status 2, not 0: ls no-such-file\n    before\n    ls: cannot access" in output
    assert "    behind" not in output


def test_an_unset_variable_fails_and_a_pipe_hides_nothing(check):
    assert "line 2: nowhere: unbound variable" in check('```bash\necho "$nowhere"\n```\n')[1]
    assert "exit status 3, not 0" in check("```bash\n(exit 3) | cat\n```\n")[1]


def test_failing_python_has_the_line_of_the_page(check):
    code, output = check("```python\nx = 1\n\nassert x == 2, 'not two'\n```\n")
    assert code == 1
    assert 'page.md", line 4' in output.replace("PAGE", "page.md")
    assert "AssertionError: not two" in output


def test_blocks_share_a_folder_that_is_no_checkout(check, repo_root):
    page = "```python title=my/numbers_of_mine.py\nTHREE = 3\n```\n\n"
    page += "```python\nfrom my.numbers_of_mine import THREE\nprint('three is', THREE)\n```\n\n"
    page += "<!-- docs-check: printed -->\n```text\nthree … 3\n```\n\n"
    page += "```bash\ntest -f my/numbers_of_mine.py\ntest -f tools/train.py\necho lost >>README.md\n```\n"
    before = (repo_root / "README.md").read_bytes()
    code, output = check(page)
    assert (code, "0 problems" in output, "2 blocks of commands are run, 0 are not\n" in output) == (0, True, True), (
        output
    )
    assert not (repo_root / "my").exists()
    assert (repo_root / "README.md").read_bytes() == before


def test_output_that_was_not_printed(check):
    page = "```bash\necho three is 3\n```\n<!-- docs-check: printed -->\n```text\nthree … 4\n```\n"
    code, output = check(page)
    assert code == 1
    assert "PAGE:6: this was not printed: three … 4\n    three is 3" in output


def test_a_wanted_exit_status(check):
    page = "<!-- docs-check: exit {} -->\n```bash\npython -c 'import sys; sys.exit(2)'\n```\n"
    assert check(page.format(2))[0] == 0
    code, output = check(page.format(1))
    assert code == 1
    assert "PAGE:3: exit status 2, not 1: python -c" in output


def test_commands_of_a_first_comment_are_run(check):
    page = (
        "<!-- docs-check: first, stands for a download\necho x >weights.pth\n-->\n\n```bash\ntest -s weights.pth\n```\n"
    )
    assert check(page)[0] == 0
    assert check(page.replace("echo", "ech_o"))[0] == 1


def test_what_takes_too_long_is_stopped(check):
    code, output = check("```bash\nsleep 60 & wait\n```\n", "--timeout", "0.3")
    assert code == 1
    assert "longer than 0.3 s" in output


def test_dead_links_headings_and_paths(check):
    page = "# One, `two`\n\n[a](#one-two) [b](gone.md) [c](#three) [d](https://example.org/x) `tools/gone.py` `tools/train.py`\n"
    code, output = check(page)
    assert code == 1
    assert "PAGE:3: the link to gone.md leads nowhere" in output
    assert "PAGE:3: the link to #three: that page has no such heading" in output
    assert "PAGE:3: tools/gone.py is not in the repository" in output
    assert "3 problems" in output


def test_what_is_not_run_is_listed_and_its_names_are_looked_up(check):
    page = "<!-- docs-check: not run, needs COCO -->\n```bash\n"
    page += "bash tools/dist_train.sh CONFIG 8 --resume --no-such-option  # --of-no-account\n"
    page += "python tools/test.py configs/gone.py CHECKPOINT \\\n    --tta --gone=1\n"
    page += "make docs-check gone VENV=x && pip install '.[onedl,gone]'\nexit 7\n```\n"
    code, output = check(page)
    assert code == 1
    assert "PAGE:3: tools/train.py has no option --no-such-option\n" in output
    assert "PAGE:4: configs/gone.py is not in the repository\n" in output
    assert "PAGE:4: tools/test.py has no option --gone\n" in output
    assert "PAGE:6: make has no target gone\n" in output
    assert "no extra 'gone'" in output
    assert "0 blocks of commands are run, 1 are not:\n  PAGE:3: needs COCO\n" in output
    assert "5 problems" in output


def test_what_is_not_run_is_parsed(check):
    assert "bash cannot parse" in check("<!-- docs-check: not run, why -->\n```bash\nif true\n```\n")[1]
    assert "no Python" in check("<!-- docs-check: not run, why -->\n```python\nif True\n```\n")[1]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```sh\nls\n```\n", "a block in sh: take bash"),
        ("```\nls\n```\n", "a block in no language"),
        ("<!-- docs-check: skip -->\n```bash\nls\n```\n", "unknown docs-check comment"),
        ("<!-- docs-check: exit 1 -->\n\nwords\n", "without a block behind it"),
        ("<!-- docs-check: exit 1 -->\n```bash\nls\nfalse\n```\n", "holds one command"),
        ("<!-- docs-check: printed -->\n```bash\nls\n```\n", "'printed' is for text"),
    ],
)
def test_pages_that_are_not_understood(check, page, message):
    code, output = check(page)
    assert code == 1
    assert message in output


def test_list_runs_nothing(check, tmp_path):
    page = f"```bash\ntouch {tmp_path}/ran\n```\n```python title=a.py\n```\n<!-- docs-check: not run, why -->\n```bash\nls\n```\n"
    code, output = check(page, "--list")
    assert code == 0
    assert output.splitlines() == [
        f"PAGE:2: run by bash: touch {tmp_path}/ran", "PAGE:5: written to a.py", "PAGE:8: not run (why): ls",
    ]  # fmt: skip
    assert not (tmp_path / "ran").exists()


def test_srun_is_stood_in_for(check):
    """As many tasks as asked for, each with its rank; the first that fails gives the status."""
    page = "```bash\nsrun --gres=gpu:2 --ntasks=2 bash -c 'echo task $SLURM_PROCID of $SLURM_NTASKS'\n```\n"
    page += "<!-- docs-check: printed -->\n```text\ntask 0 of 2\ntask 1 of 2\n```\n"
    page += "<!-- docs-check: exit 5 -->\n```bash\nsrun --ntasks=2 bash -c 'test $SLURM_PROCID = 0 && sleep 60 || exit 5'\n```\n"
    code, output = check(page)
    assert code == 0, output

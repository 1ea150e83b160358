"""Well-known causes become one sentence and an exit status; all others keep their traceback."""

import io

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import csan_mm
from csan_mm.checkpoint import CheckpointError
from csan_mm.cli.errors import error_border
from csan_mm.common.errors import NonFiniteError, UserError
from csan_mm.mixers.build import build_mixer


class Failing(Dataset):
    """Raises in a worker process, where torch wraps the error with its traceback."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> None:
        open("/no/such/image.jpg").close()


def end_of(error: Exception, capsys, **options) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop, error_border("c.py", **options):
        raise error
    return stop.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UserError("no, do that"), 1, "error: no, do that\n"),
        (UserError("no such option", exit_code=2), 2, "error: no such option\n"),
        (CheckpointError("a.pth is damaged"), 1, "error: a.pth is damaged\n"),
        (NonFiniteError("iteration 3: inf"), 1, "error: iteration 3: inf\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.json"),
            1,
            "error: a.json does not exist: correct the path",
        ),
        (FileNotFoundError("a.pth is missing: fetch it"), 1, "error: a.pth is missing: fetch it\n"),
        (PermissionError(13, "Permission denied", "a.pth"), 1, "error: a.pth: Permission denied: check the path"),
        (AssertionError("failed to load image: a b.jpg"), 1, "error: a b.jpg is not a readable image: replace it"),
        (
            KeyError("class `X` in a/b.py: 'ResNett is not in the mmdet::model registry. Please check'"),
            1,
            "error: ResNett is not in the mmdet::model registry: correct the `type` in c.py\n",
        ),
        (
            KeyError("class `X` in a/b.py: 'SwinCSaN is not in the mmdet::model registry. Please check'"),
            1,
            "error: SwinCSaN is not in the mmdet::model registry (did you mean csan_mm.SwinCSaN): correct the `type` in c.py\n",
        ),
        (
            TypeError("SwinCSaN.__init__() got an unexpected keyword argument 'drop_path'"),
            1,
            "error: SwinCSaN takes no argument 'drop_path' (did you mean drop_path_rate): correct c.py",
        ),
        (
            ValueError("need at least one array to concatenate"),
            1,
            "error: a data set of c.py has no image left: `python -m csan_mm preflight c.py` says why",
        ),
        (
            KeyError("MALLA is not in the csan_mm::model registry; did you mean MALA?"),
            1,
            "error: MALLA is not in the csan_mm::model registry (did you mean MALA): correct the `type` in c.py\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_sentence_and_status(error, code, text, capsys):
    got_code, got = end_of(error, capsys)
    assert got_code == code
    assert got.startswith(text)
    assert got.count("\n") == 1


def test_our_own_value_errors_are_sentences_and_others_are_not(capsys):
    """Also where a registry raises another one in its place."""

    def build() -> None:
        try:
            csan_mm.get_backbone("swin-csan-tiny", kappa="none")
        except ValueError as error:
            raise TypeError(f"class `SwinCSaN`: {error}") from error

    with pytest.raises(SystemExit), error_border("c.py"):
        build()
    assert capsys.readouterr().err == "error: kappa='none' is unknown: take one of unbounded, bounded\n"
    with pytest.raises(ValueError, match="invalid literal"), error_border("c.py"):
        int("x")


def test_a_fault_within_csan_mm_keeps_its_traceback():
    """A built-in ValueError raised inside the package is ours to mend, not the user's."""
    mixer = build_mixer("softmax", embed_dims=8, num_heads=2)
    with pytest.raises(ValueError, match="too many values"), error_border("c.py"):
        mixer(torch.zeros(1, 2, 2, 8))


class UnreadableImage(Dataset):
    """As mmcv's loader says it, in a worker process."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> None:
        filename = "cut.jpg"
        raise AssertionError(f"failed to load image: {filename}")


def test_unreadable_image_in_a_worker_process_is_named(capsys):
    with pytest.raises(SystemExit), error_border("c.py"):
        next(iter(DataLoader(UnreadableImage(), num_workers=1)))
    assert capsys.readouterr().err.startswith("error: cut.jpg is not a readable image")


def test_missing_file_in_a_worker_process_is_named(capsys):
    with pytest.raises(SystemExit), error_border("c.py"):
        next(iter(DataLoader(Failing(), num_workers=1)))
    assert capsys.readouterr().err.startswith("error: /no/such/image.jpg does not exist")


def test_decoder_error_without_a_name_looks_for_the_file(capsys):
    cv2 = pytest.importorskip("cv2")
    code, text = end_of(cv2.error("!buf.empty()"), capsys, find_bad_image=lambda: "empty.jpg")
    assert (code, text.split(":")[1].strip()) == (1, "empty.jpg is not a readable image")
    with pytest.raises(cv2.error), error_border("c.py", lambda: None):
        raise cv2.error("something else")


@pytest.mark.parametrize("error", [RuntimeError("CUDA error"), KeyError("lr"), AssertionError("shape"), ValueError()])
def test_unknown_causes_are_raised(error):
    with pytest.raises(type(error)) as caught, error_border("c.py"):
        raise error
    assert caught.value is error


def test_nothing_happens_without_an_error(capsys):
    with error_border("c.py"):
        torch.ones(1)
    assert capsys.readouterr().err == ""


class InterruptedFile(io.BytesIO):
    """Ctrl-C comes while its second piece is written."""

    pieces = 0

    def write(self, piece: bytes) -> int:
        self.pieces += 1
        if self.pieces == 2:
            raise KeyboardInterrupt
        return super().write(piece)


def test_ctrl_c_within_a_save_is_ctrl_c(capsys):
    """torch's writer makes a RuntimeError of it."""
    with (
        pytest.raises(SystemExit) as stop,
        error_border("c.py", how_to_go_on=lambda: "go on so"),
    ):
        torch.save({"a": torch.zeros(1000)}, InterruptedFile())
    assert stop.value.code == 130
    assert capsys.readouterr().err == "interrupted: go on so\n"

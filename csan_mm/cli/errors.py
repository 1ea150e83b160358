"""The border of the command line: what a user can mend is one sentence, everything else keeps its traceback."""

import errno
import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from csan_mm.common.errors import UserError
from csan_mm.common.unknown_arguments import near_arguments
from csan_mm.registry import MODELS

#: OpenCV's reader and Pillow's do not say which file they could not decode; these are the names of their errors.
_DECODERS = ("cv2.error", "PIL.UnidentifiedImageError")

#: No space on the disk, none of the user's share of it, or a file longer than this process may write.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

#: The exit status of what Ctrl-C stopped, as shells have it.
INTERRUPTED = 128 + signal.SIGINT


@contextmanager
def error_border(
    config: str,
    find_bad_image: Callable[[], str | None] | None = None,
    how_to_go_on: Callable[[], str | None] | None = None,
) -> Iterator[None]:
    """Ends the process with ``error: <one sentence>`` on stderr where the cause is known.

    Args:
        config: The config's path, for the sentences that point at it.
        find_bad_image: Looks for the file when a decoder did not name it. Default: not looked for.
        how_to_go_on: What to do after Ctrl-C or a full disk; None from it: another process says it. Default: nothing is said.

    Raises:
        SystemExit: A known cause; its code is 1 (2: wrong usage, 130: Ctrl-C).
    """
    try:
        yield
    except KeyboardInterrupt:
        end_interrupted(how_to_go_on() if how_to_go_on else "")
    except Exception as error:
        if _was_interrupted(error):
            end_interrupted(how_to_go_on() if how_to_go_on else "")
        sentence = explain(error, config, find_bad_image)
        if sentence is None:
            raise
        if is_disk_full(error) and how_to_go_on and (advice := how_to_go_on()):
            sentence += f"; then {advice}"
        if not getattr(_user_error(error), "told_by_main", False):
            sys.stderr.write(f"error: {sentence}\n")
        raise SystemExit(error.exit_code if isinstance(error, UserError) else 1) from None


def end_interrupted(advice: str | None = "") -> NoReturn:
    """End after Ctrl-C with one line: ``interrupted``, and what to do next where there is something; None: no line."""
    if advice is not None:
        start = "\n" if sys.stderr.isatty() else ""  # the terminal shows ^C
        sys.stderr.write(f"{start}interrupted{': ' if advice else ''}{advice}\n")
    raise SystemExit(INTERRUPTED) from None


def is_disk_full(error: BaseException) -> bool:
    """Whether a file could not be written for want of space."""
    return isinstance(error, OSError) and error.errno in _FULL


def explain(error: Exception, config: str, find_bad_image: Callable[[], str | None] | None = None) -> str | None:
    """The sentence for a well-known cause, or None.

    Args:
        error: What was raised.
        config: The config's path.
        find_bad_image: Looks for the file when a decoder did not name it. Default: not looked for.
    """
    if ours := _user_error(error):
        return str(ours)
    text = str(error)
    if unregistered := re.search(r"(\S+) is not in the (\S+::[\w ]+ registry)(; [^'\"\n]+)?", text):
        name, registry, hint = unregistered.group(1).strip("'\""), unregistered.group(2), unregistered.group(3) or ""
        hint = hint or (f"did you mean csan_mm.{name}" if name in MODELS.module_dict else "")
        near = f" ({hint.lstrip('; ').rstrip('?')})" if hint else ""
        return f"{name} is not in the {registry}{near}: correct the `type` in {config}"
    if isinstance(error, TypeError) and (
        call := re.search(r"(\w+)\.__init__\(\) got an unexpected keyword [^']*'(\w+)'", text)
    ):
        kind = MODELS.module_dict.get(call.group(1))
        hint = f" ({near_arguments(kind, call.group(2)).rstrip('?')})" if kind else ""
        return (
            f"{call.group(1)} takes no argument {call.group(2)!r}{hint}: correct {config}, or the option that sets it"
        )
    if isinstance(error, AssertionError) and (unread := re.findall(r"failed to load image: (.+)", text)):
        return _bad_image(unread[-1].strip(), config)
    if isinstance(error, json.JSONDecodeError):
        return f"an annotation file of {config} is not readable JSON ({text}): `python -m csan_mm preflight {config}` names it"
    if isinstance(error, ValueError) and "need at least one array to concatenate" in text:  # mmengine's BaseDataset
        return f"a data set of {config} has no image left: `python -m csan_mm preflight {config}` says why"
    if isinstance(error, ValueError) and (
        single := re.search(r"Expected more than 1 value per channel.*?(\[.*\])", text)
    ):
        return (
            f"a batch norm got one value per channel ({single.group(1)}), which has no variance: set "
            f"train_dataloader.batch_size=2 or more (and drop_last=True, should the last batch have one image), or in {config} "
            f"a norm_cfg that needs no batch (GN), or SyncBN over several GPUs"
        )
    if _is_decoder_error(error):
        path = find_bad_image() if find_bad_image else None
        return _bad_image(path, config) if path else None
    if is_disk_full(error):
        what = f"{error.filename} could not" if error.filename else "a file could not"
        return f"{what} be written ({error.strerror}): free some space; what was there before is unchanged"
    if isinstance(error, FileNotFoundError):
        return _missing_file(error, config)
    if isinstance(error, (PermissionError, IsADirectoryError, NotADirectoryError)) and error.filename:
        return f"{error.filename}: {error.strerror}: check the path and who may write there"
    return None


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C stands at the beginning of a chain of errors: within torch.save it ends in a RuntimeError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _user_error(error: BaseException | None) -> UserError | None:
    """The UserError in a chain of errors: mmengine's registries wrap what a constructor raised."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or error.__context__
    return error


def _missing_file(error: FileNotFoundError, config: str) -> str | None:
    """Raised by the system with a file name, in a worker process with a whole traceback, or by us with a sentence."""
    text = str(error)
    path = error.filename or _last_quoted(text)
    if path and not Path(path).suffix:
        return f"the folder {path} does not exist or cannot be made: check the path"
    if path:
        return f"{path} does not exist: correct the path, or its entry in the annotations, of {config}"
    return text if text and "\n" not in text else None


def _bad_image(path: str, config: str) -> str:
    return (
        f"{path} is not a readable image: replace it, or take it out of the annotations "
        f"(`python -m csan_mm preflight {config}` lists all such files)"
    )


def _is_decoder_error(error: Exception) -> bool:
    """Also where a worker process of a data loader raised it, which makes a RuntimeError of some classes."""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}" in _DECODERS or any(
        f"\n{name}:" in str(error) for name in _DECODERS
    )


def _last_quoted(text: str) -> str | None:
    """The path in ``[Errno 2] No such file or directory: '<path>'``, the last one of a traceback."""
    found = re.findall(r"No such file or directory: '([^']+)'", text)
    return found[-1] if found else None

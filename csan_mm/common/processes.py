"""What one process decides for all of them."""

from collections.abc import Callable
from typing import Any, TypeVar

from mmengine.dist import broadcast_object_list, is_main_process

from csan_mm.common.errors import UserError

Result = TypeVar("Result")


def decided_by_main(action: Callable[[], Result]) -> Result:
    """Run ``action`` in the main process; every process gets its result or its error, so that none waits for one that stopped.

    Args:
        action: Takes nothing; what it returns can be pickled.

    Returns:
        What it returned in the main process.

    Raises:
        UserError: It raised one, or an OSError, whose sentence this is; ``told_by_main`` is set in the other processes.
        Exception: Anything else it raised, in the main process; the others raise a UserError that names it.
    """
    outcome: list[Any] = [None, None]
    unexpected: Exception | None = None
    if is_main_process():
        try:
            outcome[0] = action()
        except UserError as error:
            outcome[1] = error
        except OSError as error:
            outcome[1] = UserError(_sentence(error))
        except Exception as error:
            unexpected = error
            outcome[1] = UserError(f"the main process stopped: {type(error).__name__}: {error}")
    broadcast_object_list(outcome)
    result, failure = outcome
    if unexpected is not None:
        raise unexpected
    if failure is not None:
        failure.told_by_main = not is_main_process()
        raise failure
    return result


def _sentence(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{where}{reason}: check the path, who may read and write there, and the disk it is on"

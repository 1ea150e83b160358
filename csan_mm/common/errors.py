"""The errors whose message is a sentence for the user: what is wrong, what was given, and what would do.

The command line prints exactly these as ``error: <sentence>``. Every other error is a fault of ours or of a library and keeps
its traceback.
"""


class UserError(Exception):
    """What a user can mend; the message names the thing and the cure in one sentence.

    Args:
        message: The sentence, without "error:".
        exit_code: Of the process: 1 (default), or 2 where the command line itself is wrong.

    Attributes:
        told_by_main: Of several processes, the main one has the same error and says it. Default: False.
    """

    told_by_main = False

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ArgumentError(UserError, ValueError):
    """A wrong argument of a public function or class: a ValueError that names it, what it got and what would do."""


class NonFiniteError(UserError, FloatingPointError):
    """A NaN or inf in training; the message names the iteration, the module and what it came from."""


class CheckpointError(UserError, ValueError):
    """A weight file that cannot be used; the message names the file, what is wrong and what would do."""

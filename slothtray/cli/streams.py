"""Standard output, input and error as a command needs them, whatever they were when it was started."""

import os
import sys
from io import TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from slothtray.cli.announce import Outcome

outcome: "Outcome | None" = None
"""With `--notify`: what is to be told of the command at its end."""


def prepare() -> None:
    """Open what is closed, so that no file of ours becomes "standard output", and let nothing fail for its encoding."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    if isinstance(sys.stdout, TextIOWrapper):
        # A folder's name may have any bytes, and go through a pipe as they are; what an old encoding lacks becomes "?".
        sys.stdout.reconfigure(errors="surrogateescape" if sys.stdout.encoding.lower() == "utf-8" else "replace")


def _open_closed() -> None:
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Left open: they stand for descriptors that outlive them.
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


NO_APP = "no app is running; it starts when one is (`slothtray`, or `slothtray run`)"

TOO_BUSY = "the machine is busy: `slothtray start {}` starts a job anyway, `slothtray config set ceiling N` moves the limit"
"""Beside a wait for the load: whoever sees one for the first time does not know what to do."""


def tell(words: str) -> None:
    """Say something beside the answer, in one clean line on standard error. That it can't be said there stops nothing."""
    if not (words.isascii() and words.isprintable()):  # or it is clean, and `add` needs no more modules
        from slothtray.text import clean

        words = clean(words)
    if outcome is not None:
        outcome.tell(words)
    try:
        print(f"slothtray: {words}", file=sys.stderr)
    except OSError:
        drop(sys.stderr)


def show_path(path: str) -> None:
    """Answer with a path: byte for byte into a pipe; to a terminal what may be shown of it."""
    if not path.isprintable() and sys.stdout.isatty():
        from slothtray.text import clean

        path = clean(path)
    print(path)


def drop(stream: "TextIO") -> None:
    """Send what is still to be written nowhere: Python would complain once more when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

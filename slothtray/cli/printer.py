"""Prints on a thread of its own: whoever reads them may stop reading (Ctrl-S, a pager), and the caller goes on."""

import os
import queue
import threading
from typing import TextIO

BACKLOG = 1000
"""Lines that wait to be read. Of what comes beyond them nothing is kept: it is news, and the history is in the database."""
CLOSE_LIMIT = 1.0


class Printer:
    """Prints in order, and never raises: a full disk or a closed pipe is no reason to stop working.

    Past Python's own buffers: one that a thread has been caught in by a terminal at rest would keep the process from its end.
    """

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="printer", daemon=True)
        self._thread.start()

    def text(self, text: str, stream: TextIO) -> None:
        """Print this, some time. Returns at once; from any thread."""
        if self._lines.qsize() < BACKLOG:
            self._lines.put((stream.fileno(), text.encode(stream.encoding, stream.errors or "replace")))

    def close(self) -> None:
        """Print what is still to be printed, if that is read within ``CLOSE_LIMIT`` seconds."""
        self._lines.put(None)
        self._thread.join(CLOSE_LIMIT)

    def _work(self) -> None:
        while (item := self._lines.get()) is not None:
            number, rest = item
            try:
                while rest:
                    rest = rest[os.write(number, rest) :]
            except OSError:
                continue

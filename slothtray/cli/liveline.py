"""One line at the end of a terminal that is written over, as progress is shown."""

import os
from collections.abc import Callable
from typing import TextIO

from slothtray.cli.columns import fit, width


class LiveLine:
    """The line, on this stream. ``clear`` it before anything else is written there."""

    def __init__(self, stream: TextIO, put: Callable[[str], object] | None = None) -> None:
        """``put`` writes a text to the stream; without one it is done here and now."""
        self._stream = stream
        self._put = put or self._print
        self._line = ""

    def write(self, text: str) -> None:
        """Show this; of one cell less than there are: in the last one a terminal may begin a new line."""
        line = fit(text, max(20, os.get_terminal_size(self._stream.fileno()).columns - 1))
        if line != self._line:
            self.clear()
            self._line = line  # before it is there: a Ctrl-C may come between the two
            self._put(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._line:
            self._put("\r" + " " * width(self._line) + "\r")
            self._line = ""

    def _print(self, text: str) -> None:
        print(text, end="", file=self._stream, flush=True)

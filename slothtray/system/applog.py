"""The app's own log: where tracebacks go, so that a person never meets one. Rotated; 0600."""

import logging
import logging.handlers
import os
from io import TextIOWrapper

from slothtray import private
from slothtray.paths import Paths
from slothtray.system import folder
from slothtray.text import clean

SIZE, KEPT = 1_000_000, 2


def set_up(paths: Paths) -> None:
    """Send all logging to ``app.log``. Raises ``StorageError`` when the folder can't be used."""
    folder.prepare(paths)
    handler = _Private(paths.app_log, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(Harmless("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("slothtray")
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    root.propagate = False


class _Private(logging.handlers.RotatingFileHandler):
    """Its files are their owner's alone, and nothing else is written to in their place."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Nothing: logging itself would print a traceback, and what went wrong is told where it matters."""

    def _open(self) -> TextIOWrapper:
        descriptor = private.open_file(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return TextIOWrapper(open(descriptor, "ab"), self.encoding, self.errors)


class Harmless(logging.Formatter):
    """A line stays one, and nothing in it moves the terminal that shows the file: other programs' words get into messages."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's line, then its traceback, if it has one."""
        return "\n".join(line if line.isprintable() else clean(line) for line in super().format(record).split("\n"))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Its line."""
        record.message = clean(record.message)
        return super().formatMessage(record)

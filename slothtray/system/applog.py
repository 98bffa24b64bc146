"""The app's own log: where tracebacks go, so that a person never meets one. Rotated; 0600."""

import logging
import logging.handlers
import os

from slothtray.paths import Paths
from slothtray.system import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import TextIOWrapper

SIZE, KEPT = 1_000_000, 2


def set_up(paths: Paths) -> None:
    """Send all logging to ``app.log``. Raises ``StorageError`` when the folder can't be used."""
    folder.prepare(paths)
    descriptor = os.open(paths.app_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    handler = _Private(paths.app_log, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("slothtray")
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    root.propagate = False


class _Private(logging.handlers.RotatingFileHandler):
    """Makes its files 0600 whatever the umask is."""

    def _open(self) -> "TextIOWrapper":
        stream = super()._open()
        os.fchmod(stream.fileno(), 0o600)
        return stream

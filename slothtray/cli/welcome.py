"""What a start says: the first one where things are, one without a desktop what else there is, a second one that it is one."""

import os
import sys

from slothtray.cli import streams
from slothtray.cli.streams import tell
from slothtray.errors import StorageError
from slothtray.model import Notice
from slothtray.paths import Paths
from slothtray.store import Queue, reading
from slothtray.system import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ADD = '`slothtray add "make -j4"`'


def welcome(paths: Paths, notice: "Callable[[Notice], None] | None" = None) -> None:
    """At the first start that has got the queue folder: say where things are, also in a notification. Never raises."""
    if not marks.once(paths, "welcome"):
        return
    for line in first_words(paths):
        tell(line)
    if notice is not None:
        notice(first_notice(paths))


def first_words(paths: Paths) -> list[str]:
    """The lines for the terminal."""
    return [
        f"welcome! The queue and its logs are in {paths.home}",
        f"the settings are in {paths.config}",
        f"{ADD} queues a command, `slothtray list` shows it",
        "`slothtray autostart enable` starts it at login",
        "`slothtray doctor` says what is missing, `slothtray --help` all else",
    ]


def first_notice(paths: Paths) -> Notice:
    """The same for the desktop, short enough for a bubble."""
    body = f"Queue a command: {ADD.strip('`')}\nAll else: slothtray --help\nQueue and logs: {paths.home}\nSettings: {paths.config}"
    return Notice(None, "slothtray is ready", body, urgent=False, keep=False)


def without_desktop() -> None:
    """Say what the tray application is where nothing can be drawn."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        tell("there is no desktop here (no DISPLAY, no WAYLAND_DISPLAY), so no icon")
        tell("`slothtray run` works the queue too, and says what it does")
        tell("`slothtray autostart enable --headless` makes it a systemd service")


def already_running(paths: Paths) -> None:
    """Tell a person who has clicked on a launcher, where nobody reads what is printed, that an app runs already."""
    if sys.stderr.isatty() and streams.outcome is None:
        return
    streams.outcome = None  # this tells more than the refusal itself would
    from slothtray.cli.announce import show
    from slothtray.system.ports import NotifyFailed

    try:
        show(running_notice(paths))
    except NotifyFailed:
        return  # what is printed, and the exit code, say it


def running_notice(paths: Paths) -> Notice:
    """With the number of jobs that wait, if that can be read."""
    body = "`slothtray list` shows the queue."
    try:
        queue = Queue(paths.database, patience=1.0)
        try:
            counts = reading.counts(queue.database)
        finally:
            queue.close()
    except StorageError:
        return Notice(None, "slothtray is already running", body, urgent=False)
    runs = "A job runs. " if counts.running else ""
    return Notice(None, f"slothtray is already running: {counts.pending or 'nothing'} waiting", runs + body, urgent=False)

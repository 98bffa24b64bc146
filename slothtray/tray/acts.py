"""What the menu's entries and the buttons of notifications do. Everything here runs on the click thread."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slothtray import policy
from slothtray.errors import SlothtrayError
from slothtray.model import Notice
from slothtray.system.ports import Autostart
from slothtray.tray.board import Board
from slothtray.tray.menu import Clipping, Do
from slothtray.tray.workers import Telling


class Port(NamedTuple):
    """What a click does outside the tray. Called on a worker thread; may raise a SlothtrayError, which is told."""

    pause: Callable[[float | None], object]
    """For so many seconds; None: until resumed."""
    resume: Callable[[], object]
    change: Callable[[str, Sequence[int]], object]
    """"start", "hold", "release", "cancel" or "retry", and the jobs. Raises for the first that can't be changed so."""
    copied: Callable[[], str]
    """What was copied last, if that can be a job; raises ``ClipboardError`` with the reason why not."""
    add: Callable[[str], str]
    """Queue copied text; returns one line that says what was queued."""
    copy: Callable[[str], object]
    """Put a text into the clipboard."""
    open_log: Callable[[int | None, Callable[[str], None]], object]
    """The log of one job, which then counts as seen; None: the app's. The second is told, some time later and in one line, when
    the desktop could not open it after all."""
    autostart: Autostart | None = None
    once: Callable[[str], bool] = lambda _mark: True
    """Whether this was never told before; it counts as told from now on, also after our end."""
    forget: Callable[[str], object] = lambda _mark: None
    """It is no longer true, so it may be told again."""
    restart: Callable[[], object] | None = None
    """Let the caller start the program anew when the app has ended; raises where that can't be done."""


class Acts:
    """The menu's ``Actions``. A click that works takes back what was told of one that did not."""

    def __init__(
        self, port: Port, board: Board, telling: Telling, on_failure: Callable[[str, str], None], end: Callable[[], None]
    ) -> None:
        """``on_failure`` gets an entry's label and the reason; ``end`` ends the app."""
        self._port = port
        self._board = board
        self._telling = telling
        self._on_failure = on_failure
        self._end = end

    def pause(self, seconds: float | None = None) -> None:
        """Start nothing more for so long."""
        self._port.pause(seconds)
        self._board.mishap("")

    def pause_until_tomorrow(self) -> None:
        """Start nothing more until the morning."""
        now = time.time()
        self.pause(policy.tomorrow(now) - now)

    def resume(self) -> None:
        """End the pause."""
        self._port.resume()
        self._board.mishap("")

    def add_from_clipboard(self, text: str | None = None) -> None:
        """Queue it, and say what it was: of a long one nobody has seen all, and without a preview nothing."""
        queued = self._port.add(self._port.copied() if text is None else text)
        self._telling.tell(Notice(None, "Queued", queued, urgent=False))
        self._board.mishap("")

    def open_log(self, job: int | None = None) -> None:
        """Show a log. What it tells counts as looked at: of that job, or everything when it is the app's.

        An older failure is taken back before, not after: the desktop may tell at once that it can't open this one.
        """
        self._board.mishap("")
        self._port.open_log(job, lambda reason: self._on_failure("Open log", reason))
        self._board.looked_at(job)

    def start(self, job: int) -> None:
        """Let it start next."""
        self._change("start", job)

    def hold(self, job: int) -> None:
        """Keep it from starting."""
        self._change("hold", job)

    def release(self, *jobs: int) -> None:
        """Queue held jobs again."""
        self._change("release", *jobs)

    def cancel(self, job: int) -> None:
        """Drop it, or end it."""
        self._change("cancel", job)

    def retry(self, *jobs: int) -> None:
        """Queue finished jobs again."""
        self._change("retry", *jobs)

    def copy_command(self, command: str) -> None:
        """Put it into the clipboard."""
        self._port.copy(command)
        self._board.mishap("")

    def set_autostart(self, wanted: bool) -> None:  # noqa: FBT001 - see menu.Actions
        """Start with the login, or no more; whatever comes of it, the menu then says how it is."""
        assert self._port.autostart is not None
        try:
            if wanted:
                self._port.autostart.enable()
            else:
                self._port.autostart.disable()
        finally:
            self.look_at_autostart()
        self._board.mishap("")

    def restart(self) -> None:
        """End the app, and let the caller start it anew."""
        assert self._port.restart is not None
        self._port.restart()
        self._end()

    def quit(self) -> None:
        """End the app; the running job goes on under its supervisor."""
        self._end()

    # --- what is looked at for the menu's sake

    def look_at_autostart(self) -> None:
        """Ask the system whether slothtray starts with the login. Raises what that raises."""
        if self._port.autostart is not None:
            self._board.autostart(enabled=self._port.autostart.enabled())

    def look_at_clipboard(self) -> None:
        """Read the clipboard for the preview. Up to 2 s."""
        try:
            self._board.clipping(Clipping(self._port.copied()))
        except SlothtrayError as error:
            self._board.clipping(Clipping("", f"clipboard: {error.message}" if error.message else error.title))

    def _change(self, name: str, *jobs: int) -> None:
        self._port.change(name, jobs)
        self._board.mishap("")
        for job in jobs:
            self._board.looked_at(job)


def chosen(notice: Notice, offer: str) -> Do:
    """The click that choosing one of a notice's ``offers`` is."""
    if offer == "open_log":
        return Do("open_log", () if notice.job is None else (notice.job,))
    return Do(offer, notice.jobs)

"""What is known of the queue and of the tray itself, and is to be seen. Any thread may change it."""

import threading
import time
from collections.abc import Callable

from slothtray.model import Face, Notice, Snapshot
from slothtray.tray import menu

UNDELIVERED_KEPT = 5
CLIPPING_KEPT = 60.0
"""Seconds for which what was copied stays in the menu. It may be anything, and the next opening reads it anew."""


class Board:
    """What is on it is shown after each change, by whom ``show_by`` names; the last change is the last one shown."""

    def __init__(self) -> None:
        self._show: Callable[[Snapshot, menu.Notes], None] = lambda _snapshot, _notes: None
        self._lock = threading.Lock()
        self._snapshot = menu.STARTING
        self._notes = menu.NO_NOTES
        self._clipped_at = 0.0

    def show_by(self, show: Callable[[Snapshot, menu.Notes], None]) -> None:
        """From the next change on ``show`` gets all of it; it must return at once."""
        self._show = show

    def put(self, snapshot: Snapshot) -> None:
        """The queue has changed."""
        with self._lock:
            self._snapshot = snapshot
            if time.monotonic() - self._clipped_at > CLIPPING_KEPT:
                self._notes = self._notes._replace(clipping=None)
            self._show(snapshot, self._notes)

    def runner_died(self) -> None:
        """Nothing will change any more."""
        with self._lock:
            words = "the queue has stopped; quit and start slothtray again"
            told = self._snapshot._replace(face=Face.IDLE, reason="nothing will start", running=None, trouble=words)
            self._snapshot = told
            self._show(told, self._notes)

    def mishap(self, words: str) -> None:
        """A click has failed, or ("") one has worked."""
        self._change(lambda notes: notes._replace(mishap=words))

    def undelivered(self, notice: Notice) -> None:
        """No notification service took this. Of one thing only the last word counts."""
        self._change(lambda notes: notes._replace(undelivered=_with(notes.undelivered, notice)))

    def looked_at(self, job: int | None) -> None:
        """The person has seen what there is to see of a job; None: all that there is."""
        self._change(lambda notes: notes._replace(undelivered=_without(notes.undelivered, job)))

    def clipping(self, clipping: menu.Clipping) -> None:
        """What is in the clipboard now."""
        self._clipped_at = time.monotonic()
        self._change(lambda notes: notes._replace(clipping=clipping))

    def autostart(self, *, enabled: bool) -> None:
        """Whether slothtray starts with the login."""
        self._change(lambda notes: notes._replace(autostart=enabled))

    def _change(self, change: Callable[[menu.Notes], menu.Notes]) -> None:
        """The lock is kept while showing, so that no older state can overtake."""
        with self._lock:
            self._notes = change(self._notes)
            self._show(self._snapshot, self._notes)


def _with(kept: tuple[Notice, ...], notice: Notice) -> tuple[Notice, ...]:
    about = (notice.job, notice.title if notice.job is None else "")
    others = [one for one in kept if (one.job, one.title if one.job is None else "") != about]
    return (*others, notice)[-UNDELIVERED_KEPT:]


def _without(kept: tuple[Notice, ...], job: int | None) -> tuple[Notice, ...]:
    return tuple(notice for notice in kept if job is not None and notice.job != job)

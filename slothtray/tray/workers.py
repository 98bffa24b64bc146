"""The two things the tray never does on its own threads: what a click asks for, and telling the person something.

Both threads are daemons that hold nothing: one that hangs in a desktop's service delays neither the drawing nor the end.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Protocol

from slothtray.errors import SlothtrayError
from slothtray.model import Notice
from slothtray.tray.menu import Actions, Do

_log = logging.getLogger(__name__)

NOTIFY_LIMIT = 10.0
"""Seconds after which a notification counts as not shown; a notifier promises to take no more than 5."""


class Notifies(Protocol):
    """What can tell the person something: ``system.ports.Notifier``."""

    def notify(self, notice: Notice) -> None:
        """Show it; may raise anything."""


class Clicks:
    """Carries out clicks one after the other, in the order they came. One that fails is told and the next is carried out."""

    def __init__(self, actions: Actions, on_failure: Callable[[str, str], None]) -> None:
        """``on_failure`` gets the entry's label and the reason, on the worker thread."""
        self._actions = actions
        self._on_failure = on_failure
        self._waiting: queue.SimpleQueue[tuple[str, Do]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="clicks", daemon=True).start()

    def click(self, label: str, do: Do) -> None:
        """Ask for it and return at once. Quit does not wait for its turn: it must work while another click hangs."""
        if do.name == "quit":
            threading.Thread(target=self._carry_out, args=(label, do), name="quit", daemon=True).start()
        else:
            self._waiting.put((label, do))

    def _work(self) -> None:
        while True:
            self._carry_out(*self._waiting.get())

    def _carry_out(self, label: str, do: Do) -> None:
        try:
            getattr(self._actions, do.name)(*do.arguments)
        except SlothtrayError as error:
            _log.warning("%s: %s", label, error)
            self._on_failure(label, str(error))
        except Exception as error:
            _log.exception("%s", label)
            self._on_failure(label, f"{type(error).__name__}: {error}")


class Telling:
    """Hands notices to the notifier, one at a time, and watches that it answers. What was not shown is given back, never lost.

    Two threads: one waits for notices and for the answer, the other is inside the notifier and may hang there. While it does,
    further notices are given back at once: a service that is stuck gets one thread of ours and no more.
    """

    def __init__(self, notifier: Notifies, on_undelivered: Callable[[Notice], None], limit: float = NOTIFY_LIMIT) -> None:
        """``on_undelivered`` is called on a thread of this object. ``limit`` in seconds."""
        self._notifier = notifier
        self._on_undelivered = on_undelivered
        self._limit = limit
        self._waiting: queue.SimpleQueue[Notice] = queue.SimpleQueue()
        self._handed: queue.SimpleQueue[tuple[Notice, threading.Event]] = queue.SimpleQueue()
        self._inside = threading.Event()
        threading.Thread(target=self._watch, name="notices", daemon=True).start()
        threading.Thread(target=self._call, name="notifier", daemon=True).start()

    def tell(self, notice: Notice) -> None:
        """Show it when its turn comes. Returns at once; from any thread."""
        self._waiting.put(notice)

    def _watch(self) -> None:
        while True:
            notice = self._waiting.get()
            over = threading.Event()
            if not self._inside.is_set():
                self._inside.set()
                self._handed.put((notice, over))
                if over.wait(self._limit):
                    continue
            _log.warning("no answer from the notification service; not shown: %s: %s", notice.title, notice.body)
            self._give_back(notice)

    def _call(self) -> None:
        while True:
            notice, over = self._handed.get()
            try:
                self._notifier.notify(notice)
            except SlothtrayError as error:
                _log.warning("%s; not shown: %s: %s", error, notice.title, notice.body)
                self._give_back(notice)
            except Exception:
                _log.exception("not shown: %s: %s", notice.title, notice.body)
                self._give_back(notice)
            self._inside.clear()
            over.set()

    def _give_back(self, notice: Notice) -> None:
        try:
            self._on_undelivered(notice)
        except Exception:
            _log.exception("a notice that was not shown")

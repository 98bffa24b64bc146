"""What the tray never does on its own threads: what a click asks for, telling the person something, and a look that may take long.

All the threads are daemons that hold nothing: one that hangs in a desktop's service delays neither the drawing nor the end.
"""

import logging
import queue
import threading
from collections.abc import Callable

from slothtray.errors import PROGRAM_CHANGED, SlothtrayError
from slothtray.model import Notice
from slothtray.system.ports import Notifier
from slothtray.tray.menu import Actions, Do

_log = logging.getLogger(__name__)

NOTIFY_LIMIT = 10.0
"""Seconds after which a notification counts as not shown; a notifier promises to take no more than 5."""


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
        except ImportError:
            _log.exception("%s", label)
            self._on_failure(label, PROGRAM_CHANGED)
        except Exception as error:
            _log.exception("%s", label)
            self._on_failure(label, f"{type(error).__name__}: {error}")


class Telling:
    """Hands notices to the notifier, one at a time, and watches that it answers. What was not shown is given back, never lost.

    Two threads: one waits for notices and for the answer, the other is inside the notifier and may hang there. While it does,
    further notices are given back at once: a service that is stuck gets one thread of ours and no more.
    """

    def __init__(self, notifier: Notifier, on_undelivered: Callable[[Notice], None], limit: float = NOTIFY_LIMIT) -> None:
        """``on_undelivered`` is called on a thread of this object. ``limit`` in seconds."""
        self._notifier = notifier
        self._on_undelivered = on_undelivered
        self._limit = limit
        self._stay: set[int] = set()
        self._waiting: queue.SimpleQueue[Notice | int] = queue.SimpleQueue()
        self._handed: queue.SimpleQueue[tuple[Notice | int, threading.Event]] = queue.SimpleQueue()
        self._inside = threading.Event()
        threading.Thread(target=self._watch, name="notices", daemon=True).start()
        threading.Thread(target=self._call, name="notifier", daemon=True).start()

    def tell(self, notice: Notice) -> None:
        """Show it when its turn comes. Returns at once; from any thread."""
        if notice.job is not None and notice.urgent:
            self._stay.add(notice.job)
        self._waiting.put(notice)

    def withdraw(self, job: int) -> None:
        """Take back the urgent notice about a job, if there was one: those stay on the screen, and it is no longer true."""
        if job in self._stay:
            self._stay.discard(job)
            self._waiting.put(job)

    def _watch(self) -> None:
        while True:
            item = self._waiting.get()
            over = threading.Event()
            if not self._inside.is_set():
                self._inside.set()
                self._handed.put((item, over))
                if over.wait(self._limit):
                    continue
            self._not_done(item, "no answer from the notification service")

    def _call(self) -> None:
        while True:
            item, over = self._handed.get()
            try:
                if isinstance(item, Notice):
                    self._notifier.notify(item)
                else:
                    self._notifier.withdraw(item)
            except SlothtrayError as error:
                self._not_done(item, str(error))
            except Exception as error:
                _log.exception("the notifier failed")
                self._not_done(item, f"{type(error).__name__}: {error}")
            self._inside.clear()
            over.set()

    def _not_done(self, item: Notice | int, reason: str) -> None:
        """Give a notice back. One that could not be withdrawn is only in the way."""
        if not isinstance(item, Notice):
            _log.info("%s; the notice about job %d stays", reason, item)
            return
        _log.warning("%s; not shown: %s: %s", reason, item.title, item.body)
        if not item.keep:
            return
        try:
            self._on_undelivered(item)
        except Exception:
            _log.exception("a notice that was not shown")


class Background:
    """Does one thing on a thread of its own whenever asked to; asked while it does it, it does it once more."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        """``call`` may hang, and raise anything."""
        self._call = call
        self._asked = threading.Event()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def ask(self) -> None:
        """Return at once; from any thread."""
        self._asked.set()

    def _work(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            try:
                self._call()
            except Exception:
                _log.exception("%s", threading.current_thread().name)

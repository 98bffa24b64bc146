"""The tray application: a runner and an icon in one process, tied so that the trouble of the one never takes the other down.

- The runner's thread gives snapshots, which go to the icon, and notices, which go to the notifier's own threads.
- The main thread is in the tray's loop, or just waits where there is no tray.
- The click thread pauses, resumes, adds and opens logs through ``Port``, which the caller fills.
"""

import logging
import os
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from slothtray.model import Face, Notice, Snapshot
from slothtray.tray import menu
from slothtray.tray.shell import Click, NoTray, Shell
from slothtray.tray.signals import on_ending
from slothtray.tray.workers import Clicks, Notifies, Telling

_log = logging.getLogger(__name__)

END_LIMIT = 4.5
"""Seconds from the wish to end to the end. Then the process goes as it is: a kill at any moment is what the queue is made for."""
UNDELIVERED_KEPT = 5


class Runner(Protocol):
    """The thread that works the queue."""

    def start(self) -> None:
        """Begin; may raise a SlothtrayError (another app holds the folder …)."""

    def stop(self) -> None:
        """Ask it to end soon, from any thread; the running job goes on. May be repeated."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most ``timeout`` seconds."""

    def is_alive(self) -> bool:
        """Whether it still works."""


MakeRunner = Callable[[Callable[[Snapshot], None], Callable[[Notice], None]], Runner]
"""Gets ``on_snapshot`` and ``on_notice``, which return at once and never raise; makes the runner, not yet started."""


class Port(NamedTuple):
    """What a click does, outside the tray. Called on a worker thread; may raise a SlothtrayError, which is told."""

    pause: Callable[[], object]
    resume: Callable[[], object]
    add_from_clipboard: Callable[[], str]
    """Returns one line that says what was queued."""
    open_log: Callable[[int | None], object]
    """The log of one job, which then counts as seen; None: the app's."""


def run_app(make_runner: MakeRunner, port: Port, notifier: Notifies, make_shell: Callable[[Click], Shell] = Shell) -> int:
    """Work the queue with an icon in the tray until Quit or a signal; returns the exit code. To be called on the main thread.

    Where there is no tray, or it goes away, the queue is worked without. What ``make_runner`` or its ``start`` raises is passed on.
    Returns 1 when the runner died; when it has died and no icon is there to tell, at once.
    """
    app = App(port, notifier, make_shell)
    return app.run(make_runner(app.on_snapshot, app.on_notice))


class App:
    """What is known of the queue, what the tray has to tell, and whether the app is to end. It is the menu's ``Actions``."""

    def __init__(self, port: Port, notifier: Notifies, make_shell: Callable[[Click], Shell]) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._snapshot = menu.STARTING
        self._notes = menu.NO_NOTES
        self._runner: Runner | None = None
        self._ending = threading.Event()
        self._runner_died = self._icon_gone = False
        self._last_resort = threading.Timer(END_LIMIT, _leave)
        self._last_resort.daemon = True
        self._telling = Telling(notifier, self._on_undelivered)
        self._shell = make_shell(Clicks(self, self._on_failed_click).click)

    def run(self, runner: Runner) -> int:
        """Start the runner, show the icon, wait for the end, stop the runner."""
        self._runner = runner
        with on_ending(self._on_signal):
            runner.start()
            threading.Thread(target=self._watch, args=(runner,), name="watch", daemon=True).start()
            self._show_icon()
            self._ending.wait()
            runner.join(END_LIMIT)
            if runner.is_alive():
                _log.error("the runner does not end")  # and keeps the process alive, until the last resort
            else:
                self._last_resort.cancel()
        return 1 if self._runner_died else 0

    # --- from the runner: any thread, never raises

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """The queue has changed."""
        self._change(snapshot=snapshot)

    def on_notice(self, notice: Notice) -> None:
        """The person should be told."""
        self._telling.tell(notice)

    # --- from the menu: the click thread

    def pause(self) -> None:
        """Start nothing more until resumed."""
        self._port.pause()
        self._looked_at_mishap()

    def resume(self) -> None:
        """End the pause."""
        self._port.resume()
        self._looked_at_mishap()

    def add_from_clipboard(self) -> None:
        """Queue what was copied last, and say what it was: nobody has seen it since."""
        self._telling.tell(Notice(None, "Queued", self._port.add_from_clipboard(), urgent=False))
        self._looked_at_mishap()

    def open_log(self, job: int | None = None) -> None:
        """Show a log. What it tells counts as looked at: of that job, or everything when it is the app's."""
        self._port.open_log(job)
        with self._lock:
            kept = tuple(notice for notice in self._notes.undelivered if job is not None and notice.job != job)
            self._notes = menu.Notes(kept, "")
        self._change()

    def quit(self) -> None:
        """End the app; the running job goes on under its supervisor."""
        with self._lock:
            if self._ending.is_set():
                return
            self._ending.set()
        self._last_resort.start()
        try:
            if self._runner is not None:  # here, not on the main thread: that may be stuck in the tray's toolkit
                self._runner.stop()
        finally:
            self._shell.stop()

    # --- inside

    def _show_icon(self) -> None:
        """Returns when the tray's loop has ended, for whatever reason, or when there is no tray."""
        try:
            self._shell.run()
        except NoTray as error:
            _log.warning("%s; the queue is worked without", error)
        except Exception:
            _log.exception("the tray failed; the queue is worked without an icon")
        else:
            if not self._ending.is_set():
                _log.error("the tray went away; the queue is worked without an icon")
        with self._lock:
            self._icon_gone = True
        if self._runner_died:
            self.quit()

    def _watch(self, runner: Runner) -> None:
        """Tells when the runner has ended by itself; where no icon can tell, ends."""
        runner.join()
        if self._ending.is_set():
            return
        _log.critical("the runner has ended by itself")
        with self._lock:
            self._runner_died = True
            snapshot = self._snapshot._replace(face=Face.IDLE, reason="nothing will start", running=None)
        self._change(snapshot._replace(trouble="the queue has stopped; quit and start slothtray again"))
        if self._icon_gone:
            self.quit()

    def _on_signal(self, name: str) -> None:
        if not self._ending.is_set():
            _log.info("ending on %s", name)
        self.quit()

    def _on_failed_click(self, label: str, reason: str) -> None:
        """A menu that has closed says nothing: so both a notification and a line in the menu."""
        self._change(mishap=f"{label}: {reason}")
        self._telling.tell(Notice(None, label, reason, urgent=False))

    def _on_undelivered(self, notice: Notice) -> None:
        with self._lock:
            kept = (*self._notes.undelivered, notice)[-UNDELIVERED_KEPT:]
            self._notes = self._notes._replace(undelivered=kept)
        self._change()

    def _looked_at_mishap(self) -> None:
        self._change(mishap="")

    def _change(self, snapshot: Snapshot | None = None, mishap: str | None = None) -> None:
        """Takes what is new, and shows all of it. The lock is kept while showing, so that the last change is the last one shown."""
        with self._lock:
            self._snapshot = self._snapshot if snapshot is None else snapshot
            self._notes = self._notes if mishap is None else self._notes._replace(mishap=mishap)
            self._shell.show(self._snapshot, self._notes)


def _leave() -> None:
    """Something does not end in time. Nothing is lost by leaving: jobs live under their supervisors, the queue is on the disk."""
    _log.error("not ended within %g s: leaving as it is", END_LIMIT)
    logging.shutdown()
    os._exit(1)

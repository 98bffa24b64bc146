"""The tray application: a runner and an icon in one process, tied so that the trouble of the one never takes the other down.

- The runner's thread gives snapshots, which go to the icon, and notices, which go to the notifier's own threads.
- The main thread is in the tray's loop, or just waits where there is no tray.
- The click thread does what menu and notifications ask for (``acts``), through a ``Port`` that the caller fills.
- The look thread reads the clipboard when the menu is about to be shown.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from slothtray.model import Notice, Snapshot, State, offer_words
from slothtray.system.ports import Notifier
from slothtray.tray.acts import Acts, Port, chosen
from slothtray.tray.board import Board
from slothtray.tray.shell import Click, NoTray, Shell
from slothtray.tray.signals import on_ending
from slothtray.tray.workers import Background, Clicks, Telling

__all__ = ["Port", "Runner", "Session", "run_app"]

_log = logging.getLogger(__name__)

END_LIMIT = 4.5
"""Seconds from the wish to end to the end. Then the process goes as it is: a kill at any moment is what the queue is made for."""
NO_ICON = "no tray icon: `slothtray doctor` says why"
GONE = "the tray icon is gone; it returns when slothtray is started again"


def has_desktop() -> bool:
    """Whether there is anything an icon could be drawn on; where there isn't, nobody misses it."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


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

    def remark(self, words: str) -> None:
        """Let `list` say this of the app, from any thread."""


class Session(Protocol):
    """The login that the app belongs to."""

    def watch(self, on_end: Callable[[str], None]) -> None:
        """Begin. ``on_end`` is told why, once and on another thread, when the session is over."""

    def look(self) -> None:
        """Something of the desktop is gone: see whether it is the whole session. Returns at once."""


MakeRunner = Callable[[Callable[[Snapshot], None], Callable[[Notice], None]], Runner]
"""Gets ``on_snapshot`` and ``on_notice``, which return at once and never raise; makes the runner, not yet started."""


MakeShell = Callable[[Click, Callable[[], None], Callable[[str], None]], Shell]
"""Gets what takes a click, what is to be called as the menu is about to be shown, and what is told whether there is a tray ("")
or what would bring one; all return at once."""


def run_app(
    make_runner: MakeRunner, port: Port, notifier: Notifier, make_shell: MakeShell = Shell, session: Session | None = None
) -> int:
    """Work the queue with an icon in the tray until Quit or a signal; returns the exit code. To be called on the main thread.

    Where there is no tray, or it goes away, the queue is worked without. What ``make_runner`` or its ``start`` raises is passed on.
    Returns 1 when the runner died; when it has died and no icon is there to tell (none yet, or no more), at once.
    """
    app = App(port, notifier, make_shell)
    return app.run(make_runner(app.on_snapshot, app.on_notice), session)


class App:
    """The parts and their ties, and whether the app is to end."""

    def __init__(self, port: Port, notifier: Notifier, make_shell: MakeShell) -> None:
        self._runner: Runner | None = None
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._runner_died = self._icon_there = self._trayless = False
        self._last_resort = threading.Timer(END_LIMIT, _leave)
        self._last_resort.daemon = True
        self._board = Board()
        self._telling = Telling(notifier, self._board.undelivered)
        self._port = port
        self._acts = Acts(port, self._board, self._telling, self._on_failed_click, self.quit)
        self._clicks = Clicks(self._acts, self._on_failed_click)
        self._looks = Background("looks", self._look)
        self._shell = make_shell(self._clicks.click, self._looks.ask, self._on_sight)
        self._board.show_by(self._shell.show)
        notifier.listen(lambda notice, offer: self._clicks.click(offer_words(offer), chosen(notice, offer)))

    def run(self, runner: Runner, session: Session | None = None) -> int:
        """Start the runner, show the icon, wait for the end, stop the runner."""
        self._runner, self._session = runner, session
        self._look_at_autostart()
        with on_ending(self._on_end):
            runner.start()
            threading.Thread(target=self._watch, args=(runner,), name="watch", daemon=True).start()
            if session is not None:
                session.watch(self._on_end)
            self._show_icon()
            self._ending.wait()
            runner.join(END_LIMIT)
            if runner.is_alive():
                _log.error("the runner does not end")  # and keeps the process alive, until the last resort
            else:
                self._last_resort.cancel()
        return 1 if self._runner_died else 0

    def quit(self) -> None:
        """End the app; the running job goes on under its supervisor. From any thread, also while the main thread hangs."""
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

    # --- from the runner: any thread, never raises

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """The queue has changed."""
        self._board.put(snapshot)
        for job in no_longer_true(snapshot):
            self._telling.withdraw(job)

    def on_notice(self, notice: Notice) -> None:
        """The person should be told."""
        self._telling.tell(notice)

    # --- inside

    def _show_icon(self) -> None:
        """Returns when the tray's loop has ended, for whatever reason, or when there is no tray. None may come for hours."""
        try:
            self._shell.run(self._on_icon)
        except NoTray as error:
            _log.warning("%s; the queue is worked without", error)
            self._remark(NO_ICON if has_desktop() else "")
        except Exception:
            _log.exception("the tray failed; the queue is worked without an icon")
            self._remark(GONE)
        else:
            if not self._ending.is_set():
                _log.error("the tray went away; the queue is worked without an icon: %s", GONE)
                self._remark(GONE)
        with self._lock:
            self._icon_there = False
        if self._runner_died:
            self.quit()

    def _on_sight(self, advice: str) -> None:
        """A tray is there, or not: said in `list`, and, once until there was one, by a notification: at each login is too often."""
        mark = f"no tray on {os.environ.get('XDG_CURRENT_DESKTOP') or 'this desktop'}"
        if not advice:
            self._port.forget(mark)
        elif self._port.once(mark):
            body = f"The queue is worked all the same; `slothtray list` shows it. What brings a tray: {advice}"
            self._telling.tell(Notice(None, "There is no tray for slothtray's icon", body, urgent=False, keep=False))
        if self._runner is not None and (advice or self._trayless):
            self._runner.remark(f"no tray icon yet: {advice}" if advice else "")
        self._trayless = bool(advice)

    def _on_icon(self) -> None:
        """From now on, and on another thread, there is an icon that can tell of trouble."""
        with self._lock:
            self._icon_there = True

    def _remark(self, words: str) -> None:
        """What nobody can see in a tray is to be seen in `list`; and it may be the first sign that the session ends."""
        if self._runner is not None:
            self._runner.remark(words)
        if self._session is not None:
            self._session.look()

    def _watch(self, runner: Runner) -> None:
        """Tells when the runner has ended by itself; where no icon can tell, ends."""
        runner.join()
        if self._ending.is_set():
            return
        _log.critical("the runner has ended by itself")
        with self._lock:
            self._runner_died = True
        self._board.runner_died()
        if not self._icon_there:
            self.quit()

    def _on_end(self, reason: str) -> None:
        if not self._ending.is_set():
            _log.info("ending on %s", reason)
        self.quit()

    def _on_failed_click(self, label: str, reason: str) -> None:
        """A menu that has closed says nothing: so both a notification and a line in the menu."""
        self._board.mishap(f"{label}: {reason}")
        self._telling.tell(Notice(None, label, reason, urgent=False))

    def _look(self) -> None:
        """The menu is about to be shown."""
        self._look_at_autostart()
        self._acts.look_at_clipboard()

    def _look_at_autostart(self) -> None:
        try:
            self._acts.look_at_autostart()
        except Exception:  # the menu then has no such entry, or an old one
            _log.exception("start at login")


def no_longer_true(snapshot: Snapshot) -> list[int]:
    """The jobs about which an urgent notice has become stale: looked at, cancelled, or begun anew."""
    over = [job.id for job in snapshot.recent if job.state is not State.FAILED or job.seen]
    begun = [snapshot.running.id] if snapshot.running is not None and not snapshot.running.failures else []
    return over + begun


def _leave() -> None:
    """Something does not end in time. Nothing is lost by leaving: jobs live under their supervisors, the queue is on the disk."""
    _log.error("not ended within %g s: leaving as it is", END_LIMIT)
    logging.shutdown()
    os._exit(1)

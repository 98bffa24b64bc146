"""The runner's loop: one select on bell, sleep signal and a supervisor that is starting; nothing else waits (DESIGN 4, 6)."""

import logging
import select
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from slothtray.clock import Clock
from slothtray.config import Watched
from slothtray.errors import PROGRAM_CHANGED, DamagedDatabase, DatabaseBusy, FolderReplaced, SlothtrayError
from slothtray.model import Face, Notice, Snapshot
from slothtray.paths import Paths
from slothtray.recovery import opening
from slothtray.runner.step import Runner, Tell
from slothtray.runner.upkeep import Upkeep
from slothtray.system import folder
from slothtray.system.doorbell import Doorbell
from slothtray.system.ports import SleepSignal

log = logging.getLogger(__name__)

BUSY_RETRY = 0.1
NOTHING_KNOWN = Snapshot(Face.IDLE, "", None, (), (), 0, 0, 0, paused=False, paused_until=None, load=None, trouble="")
TROUBLE_RETRY, TROUBLE_RETRY_MAX = 1.0, 60.0
SAY_AGAIN = 60.0
"""Seconds after which a trouble that goes on is told again: it is met ten times a second."""


class Loop:
    """Holds the queue folder and runs its jobs until stopped. Make it and run it on one thread; ``stop()`` from any.

    The making raises ``FolderBusy`` when another app holds the folder, ``StorageError`` when it can't be used; ``run`` raises
    ``FolderReplaced`` when another folder has come in its place.
    """

    def __init__(self, paths: Paths, settings: Watched, tell: Tell, sleep: SleepSignal, clock: Clock | None = None) -> None:
        self._sleep = sleep
        clock = clock or Clock()
        self._upkeep = Upkeep(paths, clock)
        self._tell = tell = tell._replace(snapshot=self._with_newer(tell.snapshot))
        self._stopping = False
        self._busy_since: float | None = None
        self._trouble = 0
        self._told, self._told_at = "", 0.0
        with ExitStack() as undo:
            undo.callback(sleep.close)
            problem = folder.prepare(paths)
            self._lock = folder.FolderLock(paths)
            undo.callback(self._lock.release)
            self._bell = Doorbell(paths)
            undo.callback(self._bell.close)
            self._remarks = {"folder": problem, "database": opening.make_usable(paths, clock)}
            self.runner = Runner(paths, settings, folder.machine_id(), self._bell.press, tell, clock)
            undo.pop_all()
        if problem:
            log.warning("%s", problem)
            if tell.trouble:
                tell.trouble(problem)
        self._tell_of_the_database(self._remarks["database"])

    def stop(self) -> None:
        """End ``run()`` at once. From any thread, or from a signal handler."""
        self._stopping = True
        self._bell.press()

    def ring(self) -> None:
        """Look now. From any thread."""
        self._bell.press()

    def remark(self, about: str, words: str) -> None:
        """Let `list` say this of the app, with what is said of other things; "" takes it back. From any thread."""
        self._remarks = {**self._remarks, about: words}
        self._bell.press()

    def run(self, until: Callable[[Runner], bool] | None = None) -> None:
        """Look, sleep, look again, until stopped or ``until`` says so. A running job goes on under its supervisor."""
        try:
            while not self._stopping:
                seconds = self._step()
                if self._stopping or (until is not None and self._trouble == 0 and self._asked(until)):
                    return
                self._wait(seconds)
        finally:
            self._close()

    def _asked(self, until: Callable[[Runner], bool]) -> bool:
        try:
            return until(self.runner)
        except SlothtrayError:
            return False

    def _step(self) -> float:
        """One step; whatever goes wrong in it is told, and tried again later: the runner's thread never dies of it."""
        self._look_after_itself()
        try:
            seconds = self.runner.step()
        except DatabaseBusy as error:
            return self._on_busy(error)
        except FolderReplaced:
            raise
        except DamagedDatabase as error:
            return self._on_trouble(f"{error.title}; quit slothtray, then `slothtray restore` lists the backups")
        except SlothtrayError as error:
            return self._on_trouble(f"{error.title}; trying again")
        except ImportError:
            log.exception("the runner failed")
            return self._on_trouble(PROGRAM_CHANGED)
        except Exception:
            log.exception("the runner failed")
            return self._on_trouble("the runner failed: see app.log")
        self._trouble, self._busy_since = 0, None
        if self._told:
            self._end_trouble()
        return seconds

    def _look_after_itself(self) -> None:
        """Is a backup due, is another version installed? Whatever goes wrong with that, jobs run."""
        try:
            self._upkeep.look()
        except Exception:
            log.exception("the upkeep failed")
        remarks = [*self._remarks.values(), *self._upkeep.remarks()]
        self.runner.remark = "\n".join(words for words in remarks if words)

    def _with_newer(self, show: Callable[[Snapshot], None] | None) -> Callable[[Snapshot], None] | None:
        return None if show is None else lambda snapshot: show(snapshot._replace(newer=self._upkeep.newer))

    def _tell_of_the_database(self, words: str) -> None:
        if words and self._tell.trouble:
            self._tell.trouble(words)
        if words and self._tell.notice:
            self._tell.notice(Notice(None, "The queue's database was damaged", words, urgent=True, offers=("open_log",)))

    def _on_busy(self, error: DatabaseBusy) -> float:
        """Another program's lock is an everyday thing for a moment, and worth telling after some seconds."""
        now = time.monotonic()
        self._busy_since = self._busy_since or now
        if now - self._busy_since > 5.0:
            self._show_trouble(f"{error.title}; trying again")
        self._trouble = max(self._trouble, 1)
        return BUSY_RETRY

    def _on_trouble(self, words: str) -> float:
        log.error("%s", words)
        self._show_trouble(words)
        self._trouble += 1
        return min(TROUBLE_RETRY * 2.0 ** min(self._trouble - 1, 10), TROUBLE_RETRY_MAX)

    def _end_trouble(self) -> None:
        self._told = ""
        self._lock.tell("")
        if self._tell.trouble:
            self._tell.trouble("that is over: the queue goes on")

    def _show_trouble(self, words: str) -> None:
        now = time.monotonic()
        if words == self._told and now - self._told_at < SAY_AGAIN:
            return
        self._told, self._told_at = words, now
        self._lock.tell(words)
        if self._tell.trouble:
            self._tell.trouble(words)
        if self._tell.snapshot:
            self._tell.snapshot((self.runner.snapshot or NOTHING_KNOWN)._replace(trouble=words))

    def _wait(self, seconds: float) -> None:
        started = self.runner.started_fileno()
        asleep = self._sleep.fileno()
        watched = [*self._bell.filenos(), *(number for number in (started, asleep) if number is not None)]
        ready, _, _ = select.select(watched, [], [], seconds)
        self._bell.drain()
        if started in ready:
            self.runner.note_started()
        if asleep in ready:
            self._sleep.drain()

    def _close(self) -> None:
        self._upkeep.stop()
        self._bell.close()
        self._sleep.close()
        self.runner.close()
        self._lock.release()


class LoopThread:
    """The loop on a thread of its own, under the tray. What it can't begin with (a folder that is held) is raised by ``start``."""

    def __init__(self, make: Callable[[], Loop]) -> None:
        self._make = make
        self._loop: Loop | None = None
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="runner")

    def start(self) -> None:
        """Begin; returns when the folder is held. Raises what the loop's making raised."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self) -> None:
        """End it at once; see ``join``."""
        if self._loop is not None:
            self._loop.stop()

    def ring(self) -> None:
        """Look now."""
        if self._loop is not None:
            self._loop.ring()

    def remark(self, words: str) -> None:
        """Let `list` say this of the app, from now on until it ends; "" takes it back. From any thread."""
        if self._loop is not None:
            self._loop.remark("icon", words)

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(timeout)

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            loop = self._loop = self._make()
        except BaseException as error:
            self._error = error
            return
        finally:
            self._ready.set()
        try:
            loop.run()
        except SlothtrayError as error:
            log.critical("%s", error)  # the tray sees that the runner has ended, and says what to do
        except Exception:
            log.exception("the runner has failed for good")  # a thread's own way would be a traceback on stderr, and a silent log

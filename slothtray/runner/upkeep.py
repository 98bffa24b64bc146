"""What an app looks after beside the jobs, once a minute at a look that is made anyway: backups, and what is installed."""

import logging
import threading

import slothtray
from slothtray.clock import Clock
from slothtray.errors import DatabaseBusy, SlothtrayError
from slothtray.paths import Paths
from slothtray.recovery import backup
from slothtray.store.copying import Interrupted
from slothtray.system.installed import Installed

log = logging.getLogger(__name__)

MINUTE = 50.0
"""Seconds awake between two looks at this: less than the runner's floor, so that none of its looks comes a moment too early."""

PATIENT_TRIES = 24
"""An hour apart, of which each may meet a large queue in full work; after them `add` and jobs have to wait some seconds, once."""


class Upkeep:
    """Belongs to the loop's thread. Backups are made on a thread of their own, which holds nothing and may die at any moment."""

    def __init__(self, paths: Paths, clock: Clock, installed: Installed | None = None) -> None:
        self._paths, self._clock = paths, clock
        self._installed = installed or Installed(slothtray.__version__)
        self._looked_at = clock.awake()
        """The first look is a minute after the start: starting, and what an upgrade restarts, has better things to do."""
        self._tried_at: float | None = None
        self._met_busy = 0
        """How many tries in a row found the database written to all the time."""
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._problem = ""
        self.newer = ""
        """The version that is installed, where that is another one than this program's."""

    def look(self) -> None:
        """See whether there is something to do, at most once a minute."""
        now = self._clock.awake()
        if now - self._looked_at < MINUTE:
            return
        self._looked_at = now
        self.newer = self._installed.newer()
        if self._thread is None or not self._thread.is_alive():
            self._back_up_if_due()

    def remarks(self) -> list[str]:
        """What `list` is to say."""
        newer = f"slothtray {self.newer} is installed: restart the app to use {self.newer}" if self.newer else ""
        return [newer, self._problem]

    def stop(self) -> None:
        """Let a backup that is being made be given up."""
        self._stopping = True

    def join(self) -> None:
        """Wait for the backup that is being made."""
        if self._thread is not None:
            self._thread.join()

    def _back_up_if_due(self) -> None:
        since_try = None if self._tried_at is None else self._clock.elapsed() - self._tried_at
        if not backup.is_due(backup.age(self._paths, self._clock.wall()), since_try):
            return
        self._tried_at = self._clock.elapsed()
        self._thread = threading.Thread(target=self._back_up, name="backup", daemon=True)
        self._thread.start()

    def _back_up(self) -> None:
        insist = self._met_busy >= PATIENT_TRIES
        try:
            made = backup.make(self._paths, self._clock, lambda: not self._stopping, insist=insist)
        except Interrupted:
            return
        except DatabaseBusy as error:
            log.info("no backup this time: %s", error)
            self._met_busy += 1
            self._problem = f"the queue could not be backed up: {error.title}" if insist else ""
        except SlothtrayError as error:
            log.warning("no backup: %s", error)
            self._problem = f"the queue could not be backed up: {error.title}"
        except Exception:
            log.exception("no backup")
            self._problem = "the queue could not be backed up: see app.log"
        else:
            log.info("backed up to %s", made)
            self._problem, self._met_busy = "", 0

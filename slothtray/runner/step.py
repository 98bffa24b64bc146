"""The runner: one look at the queue and at the machine, and what follows from it (DESIGN 4). Never sleeps, never loops."""

import logging
import os
from collections.abc import Callable
from typing import NamedTuple

from slothtray import policy
from slothtray.clock import Clock
from slothtray.config import Config, Watched
from slothtray.crashpoint import crash_point
from slothtray.errors import DatabaseBusy
from slothtray.model import Job, Notice, Snapshot, State
from slothtray.paths import Paths
from slothtray.policy import Gates, Instant, Verdict, Wait
from slothtray.runner import settle, spec, storage, telling
from slothtray.runner.housekeeping import Forgetting, LogCap
from slothtray.runner.loadwatch import LoadWatch, own_of_last_runner
from slothtray.runner.watch import ClockWatch
from slothtray.store import Queue, claim, reading, status
from slothtray.store.changes import note, note_sleep
from slothtray.system.launcher import Attempt, Launcher
from slothtray.text import duration_words

log = logging.getLogger(__name__)

FLOOR = 60.0
"""Seconds between two looks when nothing is to be expected: one a minute, in case a ring or a wake was not heard."""
STORAGE_RETRY = UNKILLABLE_LOOK = 5.0
CANCEL_RETRY = 0.5
"""Seconds until a cancel that could not be passed on is tried again: an adopted run has no pipe that tells of its J."""


class Tell(NamedTuple):
    """Who is told what. Each is called on the runner's thread and must be quick."""

    snapshot: Callable[[Snapshot], None] | None = None
    notice: Callable[[Notice], None] | None = None
    started: Callable[[Job], None] | None = None
    ended: Callable[[Job, policy.Change], None] | None = None
    waiting: Callable[[Wait], None] | None = None
    trouble: Callable[[str], None] | None = None


class Runner:
    """Runs one queue's jobs one at a time. Belongs to one thread; the folder's lock must be held by this process."""

    def __init__(
        self,
        paths: Paths,
        settings: Watched,
        machine: str,
        ring: Callable[[], None],
        tell: Tell = Tell(),  # noqa: B008 - immutable
        clock: Clock | None = None,
        launcher: Launcher | None = None,
        patience: float = 0.1,
    ) -> None:
        self.paths, self._settings, self._machine, self._ring, self._tell = paths, settings, machine, ring, tell
        self.config = settings.current()
        self.clock = clock or Clock()
        self._launcher = launcher or Launcher()
        self.queue = Queue(paths.database, self.clock, backoff_cap=self.config.backoff_cap)
        self._database = self.queue.database
        self._boot = self.clock.boot_id()
        self._watch = ClockWatch(self.clock)
        self._slept, self._stepped, self._first = 0.0, False, True
        self._attempt: Attempt | None = None
        self._untold = ""  # the run that was adopted and is to have its event yet
        self._unrecorded = ""  # the run that was claimed and could not have a record
        self._loads = LoadWatch(own_of_last_runner(self._database, self._boot))
        self._logs, self._forgetting = LogCap(paths), Forgetting(paths, self._database)
        self._database.set_patience(patience)  # till here as long as a command would wait: now there is a select to go back to
        self._woke_at = self._ended_at = float("-inf")
        self._storage = ""
        self._said: tuple[object, ...] = ()
        self._said_at = float("-inf")
        self._bulletin = telling.Bulletin(paths, tell.notice)
        self._absence = ""
        self.remark = ""
        """What the app has to say of itself in `list`, a thing a line. Set before a step."""
        self.snapshot: Snapshot | None = None
        """What was last told to the tray."""
        self.failures = 0
        """How many jobs failed for good since this runner began."""

    # --- one look -----------------------------------------------------------------------------------------------------------

    def step(self) -> float:
        """Do what is to be done now; seconds until the next look if nothing rings before. Raises ``StorageError``."""
        self._database.check_in_place()
        self._look_at_config()
        self._look_at_clocks()
        job = self._settle_running()
        wait = None
        self._expire()
        if job is None:
            job, wait = self._start_next()
        self._bulletin.flush(self.config, self.clock.wall(), self.clock.awake(), self._absence)
        self._absence = ""
        self._say(job, wait)
        self._forgetting.look(self.config, self.clock.wall(), self.clock.elapsed())
        return self._until_next(job, wait)

    def started_fileno(self) -> int | None:
        """The pipe of the attempt that is being started, to select on."""
        return self._attempt.started_fileno() if self._attempt is not None else None

    def note_started(self) -> None:
        """The pipe has ended: the job's pid is in its record, so a cancel can reach it now."""
        if self._attempt is not None:
            self._attempt.note_started()

    def finished(self) -> bool:
        """Whether nothing is running, due or in backoff: when `run --until-empty` ends."""
        return not reading.unfinished_exists(self._database, self.clock.wall())

    def close(self) -> None:
        """Give the database back. A running job goes on under its supervisor."""
        self.note_started()  # nobody reads that pipe any more
        self.queue.close()

    # --- config ---------------------------------------------------------------------------------------------------------------

    def _look_at_config(self) -> None:
        before, self.config = self.config, self._settings.current()
        for name, old, new in zip(Config._fields, before, self.config, strict=True):
            if old != new:
                log.info("config: %s is %s now, was %s", name, new, old)
                self._said = ()  # the figures in the status row are not to wait for the next interval
        problem = self._settings.news()
        if problem:
            log.warning("%s", problem)
            if self._tell.trouble:
                self._tell.trouble(problem)

    # --- clocks ---------------------------------------------------------------------------------------------------------------

    def _look_at_clocks(self) -> None:
        slept, stepped = self._watch.look()
        self._slept, self._stepped = self._slept + slept, self._stepped or stepped  # kept till it is written
        now = self.clock.wall()
        if self._first:
            self._absence = "while slothtray was not running"
        if slept:
            self._absence = "while the machine was asleep"
            log.info("slept %s", duration_words(slept))
            self._woke_at = self.clock.awake()
        if self._slept:
            with self._database.write():
                note_sleep(self._database, now, duration_words(self._slept))
            self._slept = 0.0
        if self._stepped:
            self._forgetting.postpone(self.clock.elapsed())
        if (self._stepped or self._first) and reading.late_backoff_exists(self._database, now):
            with self._database.write():
                claim.clamp_backoff(self._database, now)
        self._first = self._stepped = False

    # --- the running row --------------------------------------------------------------------------------------------------------

    def _settle_running(self) -> Job | None:
        """Bring the row that says running to the truth; the job if it really runs."""
        for job in reading.running(self._database):
            if self._lives(job):
                return job
        return None

    def _lives(self, job: Job) -> bool:
        attempt = self._attempt if self._attempt is not None and self._attempt.run == job.run else None
        if attempt is not None and not attempt.over:
            self._look_after(job, attempt)
            return True
        if job.run == self._unrecorded:
            self._give_back(job)
            return False
        evidence, record = settle.gather(job, self.paths, self.clock, self._machine, attempt.record if attempt else None)
        verdict = policy.verdict(evidence)
        crash_point("judged")
        if verdict is Verdict.WAIT_LEASE:
            return True
        if verdict is Verdict.ADOPT:
            self._adopt(job)
            return True
        change = settle.change_for(verdict, job, record, self.paths, self.config, self.clock.wall())
        if attempt is not None and attempt.disk_full:
            change = policy.on_full_disk(change)
        crash_point("swept")
        self._end(job, change, began=record is not None and record.started is not None)
        if record is not None and record.result is not None and record.result.why == "exec":
            self._storage = storage.why_not(self.paths)  # was it for want of a log? Then so would the others fail
        return False

    def _adopt(self, job: Job) -> None:
        """Watch a run that an earlier app started."""
        self._attempt = self._launcher.adopt(self.paths, str(job.run), self._ring)
        if self._attempt is None:
            self._ring()  # somebody has removed its record since it was asked: look again
            return
        log.info("job %d: adopted run %s", job.id, job.run)
        self._untold = self._attempt.run
        self._look_after(job, self._attempt)

    def _look_after(self, job: Job, attempt: Attempt) -> None:
        """A run goes on: say once that it was adopted, and pass a cancel on as soon as it can be."""
        if self._untold == attempt.run:
            crash_point("adopting")
            with self._database.write():
                note(self._database, job.id, self.clock.wall(), "adopted", attempt.run)
            self._untold = ""
            crash_point("adopted")
            if self._tell.started:
                self._tell.started(job)
        self._logs.look(job.id, self.config.log_cap, self.clock.awake())
        settle.say_unkillable(self._database, job, attempt.unkillable(), self.clock.wall(), self._tell.trouble)
        if job.cancel_requested and not attempt.cancel_sent:
            crash_point("cancelling")
            attempt.cancel()
            crash_point("cancel passed on")

    def _end(self, job: Job, change: policy.Change, *, began: bool) -> None:
        """Write how a run ended; only then is it forgotten here, so a busy database just means doing all this again."""
        now = self.clock.wall()
        self._logs.look(job.id, self.config.log_cap, self.clock.awake())
        with self._database.write():
            current = claim.get(self._database, job.id)
            if current is not None and current.cancel_requested:
                change = policy.cancelled_meanwhile(change, now)  # asked for since: what is told is what is written
            applied = self.queue.apply(job, change, now)
            crash_point("ending")
        crash_point("ended")
        if self._attempt is not None and self._attempt.run == job.run:
            self._attempt.close()
            self._attempt = None
        if began:
            self._ended_at = self.clock.awake()
        if applied:
            self._told_of(job, change)
        else:
            log.warning("job %d: somebody else had settled run %s", job.id, job.run)

    def _told_of(self, job: Job, change: policy.Change) -> None:
        log.info("job %d: %s (%s)", job.id, change.kind, change.detail)
        self.failures += change.to is State.FAILED
        if self._tell.ended:
            self._tell.ended(job, change)
        self._bulletin.note(job, change, self.config)
        if "empty" in self.config.notify_on and self._tell.notice and self.finished():
            self._bulletin.note_empty()

    # --- the next one -----------------------------------------------------------------------------------------------------------

    def _expire(self) -> None:
        """Cancel what is too late to start, also while another job runs: who waits for it is told now, not hours later."""
        now = self.clock.wall()
        if reading.outlook(self._database, now).expired:
            with self._database.write():
                claim.make_due(self._database, now)

    def _start_next(self) -> tuple[Job | None, Wait | None]:
        """Start the next job if one is due and every gate is open: the job, or why it waits."""
        now = self.clock.wall()
        outlook = reading.outlook(self._database, now)
        if not outlook.due and not outlook.start_now:
            self._loads.forget()
            return None, None
        waits = policy.waits(Instant(now, self.clock.awake()), self._gates(now))
        if waits and not outlook.start_now:
            return None, waits[0]
        return (self._claim_and_launch(only_start_now=bool(waits)), None)

    def _gates(self, now: float) -> Gates:
        pause = status.pause_of(self._database, now)
        self._loads.measure(self.config.ceiling, now, self.clock.awake())
        if self._storage:
            self._storage = storage.why_not(self.paths)
        return Gates(
            paused=pause is not None,
            paused_until=pause.until if pause else None,
            settle_until=self._woke_at + self.config.settle,
            cooldown_until=self._ended_at + self.config.cooldown,
            storage=self._storage,
            load=self._loads.load,
            load_since=self._loads.since,
        )

    def _claim_and_launch(self, *, only_start_now: bool) -> Job | None:
        token = os.urandom(4).hex()
        lease_until = self.clock.awake() + self.config.lease
        claimant = claim.Claimant(token, self._boot, lease_until, machine=self._machine)
        with self._database.write():
            job = claim.take(self._database, claimant, self.clock.wall(), only_start_now=only_start_now)
            # Read here: a database that is busy after the commit would leave a claimed row without a start.
            captured = reading.environment(self._database, job.id) if job is not None else None
            crash_point("claiming")
        crash_point("claimed")
        return job if job is not None and self._launch(job, captured) else None

    def _launch(self, job: Job, captured: dict[str, str] | None) -> bool:
        line = spec.build(job, captured, self.config, self.paths, self._boot)
        try:
            storage.remake_logs(self.paths)
            self._attempt = self._launcher.launch(self.paths, str(job.run), line, self._ring, self.config.kill_grace)
        except OSError as error:
            return self._cannot_record(job, error)
        log.info("job %d: started as run %s", job.id, job.run)
        if self._tell.started:
            self._tell.started(job)
        return True

    def _cannot_record(self, job: Job, error: OSError) -> bool:
        """No run record, no start: the job goes back uncounted, and nothing starts until a record can be made."""
        self._storage = storage.words(self.paths, error)
        log.warning("job %d: %s", job.id, self._storage)
        crash_point("no record")
        self._unrecorded = str(job.run)
        self._give_back(job)
        return False

    def _give_back(self, job: Job) -> None:
        """The database may be full or busy, too: then this is done again at the next look."""
        columns: dict[str, object] = {"attempts": job.attempts - 1, "started_at": None}
        change = policy.Change(State.PENDING, "unstarted", self._storage, columns)
        with self._database.write():
            self.queue.apply(job, change, self.clock.wall())
        self._unrecorded = ""

    # --- what is said, and when to look again -----------------------------------------------------------------------------------

    def _say(self, job: Job | None, wait: Wait | None) -> None:
        """Write the status row when state or gate has changed, and its figures once an interval; tell the listeners."""
        now = self.clock.wall()
        if wait is not None and self._tell.waiting:
            self._tell.waiting(wait)
        state = self._state(job, wait, now)
        key = (state, wait.gate if wait else None, self.remark)
        fresh = (*key, wait.reason if wait else None)
        due = self.clock.awake() - self._said_at >= self.config.interval
        if key != self._said[:3] or (fresh != self._said and due):
            written = self._write_status(state, wait, now)
            self._said, self._said_at = fresh if written else (), self.clock.awake()
        if self._tell.snapshot:
            self.snapshot = telling.snapshot(self._database, wait, self._loads.load, now, self._settings.problem)
            self._tell.snapshot(self.snapshot)

    def _state(self, job: Job | None, wait: Wait | None, now: float) -> str:
        paused = status.pause_of(self._database, now) is not None
        return str(policy.face(running=job is not None, paused=paused, waiting=wait is not None))

    def _write_status(self, state: str, wait: Wait | None, now: float) -> bool:
        gate, reason, since, until = wait or (None, None, None, None)
        said = status.Status(state, gate, reason, since, until, self._loads.load, now, self.remark or None)
        own = None if self._loads.own.at is None else (self._loads.own.average, self._loads.own.at, self._boot)
        try:
            with self._database.write():
                status.say(self._database, said, own)
        except DatabaseBusy:
            log.info("the status was not written: the database is busy")
            return False
        return True

    def _until_next(self, job: Job | None, wait: Wait | None) -> float:
        now = self.clock.wall()
        limits = [FLOOR if job is None else self._while_running(), self._forgetting.due_in()]
        outlook = reading.outlook(self._database, now)
        if outlook.next_due is not None:
            limits.append(outlook.next_due - now)
        if job is not None:
            if job.cancel_requested and self._attempt is not None:
                limits.append(UNKILLABLE_LOOK if self._attempt.cancel_sent else CANCEL_RETRY)
            return max(0.0, min(limits))
        if wait is not None:
            limits.append(self._until_gate(wait, now))
        elif outlook.due:
            limits.append(0.0)
        return max(0.0, min(limits))

    def _until_gate(self, wait: Wait, now: float) -> float:
        if wait.gate == "storage":
            return STORAGE_RETRY
        if wait.until is not None:
            return wait.until - now
        return self.config.interval if wait.gate == "load" else FLOOR  # a pause ends with a ring

    def _while_running(self) -> float:
        """While a job runs its log is looked at, and its part in the load sampled, to be taken off before the next one."""
        if self._attempt is None or self._attempt.over:
            return FLOOR
        awake = self.clock.awake()
        sample = None if self.config.ceiling is None else self._loads.sample(self._attempt, awake)
        return min(self._logs.due_in(awake), FLOOR if sample is None else sample)

"""The real store, driven at random beside the model of it: a real file, a clock that is set by hand, no processes."""

import tempfile
from collections import Counter
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from queue_model import CAP, OVER, WAITING, Model, Row

from slothtray import ManualClock, Queue
from slothtray.errors import Refused
from slothtray.model import Job, Result
from slothtray.policy import after_interruption, after_no_start, after_result, held
from slothtray.states import FINISHED, TRANSITIONS, State
from slothtray.store import claim, person
from slothtray.store.adding import NewJob
from slothtray.store.editing import Edit

NOTES = ("cancel requested", "start", "edited")
"""Events that tell of no change of state."""
SHOWN = (
    *("id", "state", "priority", "once", "max_attempts", "after", "expires_at", "not_before", "earliest", "backoff", "attempts"),
    *("failures", "interruptions", "unstarted", "cancel_requested", "start_now", "label", "run", "started"),
)
COLUMNS = ", ".join(SHOWN[:-1]) + ", started_at IS NOT NULL AS started"


def result(why, code, signal=None):
    """The change that a result of the supervisor asks for."""
    found = partial(Result, why, code, signal, "not there", 0, 3.0)
    return lambda job, now: after_result(job, found(now), now, job.max_attempts or 1, CAP)


ENDINGS: dict[str, tuple] = {
    # How an attempt ends: the change that policy makes of it, and what the model says of it.
    "exit 0": (result("exit", 0), lambda model, row, now: model.finished(row, "done")),
    "exit 3": (result("exit", 3), Model.failed),
    "signal 9": (result("exit", None, 9), Model.failed),
    "timeout": (result("timeout", None, 15), Model.failed),
    "exit 127": (result("exit", 127), partial(Model.failed, hopeless=True)),
    "no exec": (result("exec", None), partial(Model.failed, hopeless=True)),
    "cancel": (result("cancel", None, 15), lambda model, row, now: model.finished(row, "cancelled")),
    "interrupted": (result("interrupted", None, 15), lambda model, row, now: model.interrupted(row)),
    "killed": (lambda job, now: after_interruption(job, "killed", now), lambda model, row, now: model.interrupted(row)),
    "no start": (lambda job, now: after_no_start(job, "no start", now, CAP), Model.not_started),
    "unproven": (lambda job, now: held(job, "may live", now), lambda model, row, now: model.unproven(row)),
}
HOW = st.sampled_from(("exit 0", "exit 0", "exit 3", "exit 3", "exit 3", *sorted(ENDINGS)))
PERSON = {
    "cancel": lambda row: row.state in WAITING,
    "hold": lambda row: row.state == "pending",
    "release": lambda row: row.state == "held",
    "retry": lambda row: row.state in OVER,
    "start": lambda row: row.state == "pending",
}
"""What a person may say, and of which jobs."""
SECONDS = (0.5, 2.0, 10.0, 60.0, 3600.0)
job_numbers = st.integers(0, 31)
handles = st.sampled_from((0, 0, 0, 1, 2))
seldom = st.sampled_from((False, False, False, True))


class QueueMachine(RuleBasedStateMachine):
    """Each rule does one thing to the queue and to the model; after each they must agree in all they say."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.queue = Queue(f"{self.folder.name}/queue.db", self.clock, backoff_cap=CAP)
        self.database = self.queue.database
        # No power is cut here, and a sync takes milliseconds.
        self.database.execute("PRAGMA synchronous=OFF")
        self.database.rows("PRAGMA journal_mode=MEMORY")
        self.model = Model()
        self.claimed: list[Job] = []
        self.last_event = 0
        self.kinds: dict[int, list[str]] = {}
        self.states: dict[int, State] = {}

    def teardown(self):
        self.queue.close()
        self.folder.cleanup()

    # --- adding ----------------------------------------------------------------------------------------------------------------

    @rule(
        priority=st.sampled_from((0, 0, 5, -3)),
        delay=st.sampled_from((0.0, 0.0, 5.0, 60.0)),
        after=st.sampled_from((None, None, None, -1, -1, 0)),
        once=seldom,
        hold=seldom,
        expires=st.sampled_from((None, 9.0)),
        max_attempts=st.sampled_from((None, 2, 4, 9)),
        label=st.sampled_from((None, None, "nightly")),
    )
    def add(self, priority=0, delay=0.0, after=None, once=False, hold=False, expires=None, max_attempts=4, label=None):
        now = self.clock.wall()
        limits = {
            "priority": priority,
            "once": once,
            "max_attempts": max_attempts,
            "label": label,
            "not_before": now + delay if delay else 0.0,
            "after": None if after is None or not self.model.rows else list(self.model.rows)[after],
            "expires_at": None if expires is None else now + expires,
        }
        row = Row(len(self.model.rows) + 1, "held" if hold else "pending", **limits)
        expected = self.model.add(row, unique=label is not None)
        new = NewJob("make", ("make",), cwd="/", unique=label is not None, hold=hold, **limits)
        if expected is None:
            self.refused(lambda: self.queue.enqueue([new]))
        else:
            assert self.queue.enqueue([new]) == [expected]

    @rule(jobs=st.lists(st.tuples(st.sampled_from((0, 0, 5)), st.sampled_from((0.0, 60.0)), st.sampled_from((None, -1))), min_size=2, max_size=4))
    def add_some(self, jobs):
        """So that there is something to choose from, and chains of what waits for another."""
        for priority, delay, after in jobs:
            self.add(priority, delay, after)

    # --- claims ----------------------------------------------------------------------------------------------------------------

    @rule(only_start_now=seldom)
    def the_runner_claims(self, only_start_now):
        token = f"{len(self.claimed):08x}"
        claimant = claim.Claimant(token, self.clock.boot_id(), self.clock.awake() + 60, machine="machine")
        with self.database.write():
            job = claim.take(self.database, claimant, self.clock.wall(), only_start_now=only_start_now)
        self.took(job, self.model.claim(self.clock.wall(), only_start_now=only_start_now), None)

    @rule(lease=st.sampled_from((1.0, 30.0, 3600.0)))
    def a_worker_claims(self, lease):
        running = self.model.running()
        if running is not None and running.lease is None:
            self.refused(lambda: self.queue.claim(lease))
            return
        self.model.expire_lease(self.clock.boot_id(), self.clock.awake())
        expected = self.model.claim(self.clock.wall())
        self.took(self.queue.claim(lease), expected, (self.clock.boot_id(), self.clock.awake() + lease))

    def took(self, job, row, lease):
        """The claim took what the model says, under a run-id that was never used before."""
        assert (job and job.id) == (row and row.id)
        if job is not None:
            assert job.run not in [other.run for other in self.claimed]
            row.run, row.lease = job.run, lease
            self.claimed.append(job)

    # --- how attempts end --------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.claimed)
    @rule(how=HOW, which=handles, reread=st.booleans())
    def an_attempt_ends(self, how, which, reread):
        """Told by whoever held it then: the last one that claimed, or an earlier one, who is too late."""
        job = self.handle(which)
        if reread and self.lives(job):
            job = self.queue.get(job.id)
        self.end(job, how)

    @precondition(lambda self: self.claimed)
    @rule(which=handles, what=st.sampled_from(("complete", "fail", "heartbeat", "heartbeat")))
    def a_worker_says(self, which, what):
        self.worker_says(self.handle(which), what)

    @rule(how=st.sampled_from(("advance", "suspend", "reboot")), last_word=st.sampled_from(("complete", "fail", "heartbeat", "exit 0")))
    def a_worker_is_silent(self, how, last_word):
        """For an hour, or through a boot; when it speaks again, another one may have the job."""
        if self.model.running() is None:
            self.a_worker_claims(30.0)
            self.each_change_has_its_event()
        if self.model.running() is None or self.model.running().lease is None:
            return
        job = next(job for job in self.claimed if self.lives(job))
        if how == "reboot":
            self.clock.reboot()
        else:
            getattr(self.clock, how)(3600.0)
        self.a_worker_claims(30.0)
        self.agree()
        for word in (last_word,) if self.lives(job) else ("heartbeat", "complete", "fail", "exit 0"):
            self.end(job, word) if word in ENDINGS else self.worker_says(job, word)

    def worker_says(self, job, what):
        row, now = self.model.rows[job.id], self.clock.wall()
        if what == "complete":
            self.said(job, partial(self.queue.complete, job), partial(self.model.finished, row, "done"))
        elif what == "fail" and row.max_attempts is not None:  # the library's own jobs all have a limit
            self.said(job, partial(self.queue.fail, job, "exit 2"), partial(self.model.failed, row, now))
        elif what == "heartbeat":
            alive = self.lives(job)
            row.lease = (row.lease[0], self.clock.awake() + 30.0) if alive and row.lease else row.lease
            assert self.queue.heartbeat(job, 30.0) is alive

    @rule(hows=st.lists(HOW, min_size=1, max_size=4) | st.sampled_from((("killed",) * 10, ("no start",) * 3)))
    def attempts(self, hows):
        """From a claim to an end, as most of a queue's life goes; what is counted to ten never comes so far by chance."""
        for how in hows:
            if self.model.running() is None:
                self.each_change_has_its_event()
                self.clock.advance(CAP)
                self.the_runner_claims(only_start_now=False)
            if self.model.running() is not None:
                self.end(self.queue.get(self.model.running().id), how)

    def end(self, job, how):
        change, effect = ENDINGS[how]
        now = self.clock.wall()

        def apply():
            with self.database.write():
                return self.queue.apply(job, change(job, now), now)

        self.said(job, apply, lambda: effect(self.model, self.model.rows[job.id], now))

    def said(self, job, say, effect):
        """The word of the one that holds the run counts, once; any other changes nothing."""
        if self.lives(job):
            effect()
            assert say() is True
            self.agree()
        self.nothing_happens(say)

    # --- time --------------------------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from(SECONDS), how=st.sampled_from(("advance", "advance", "suspend", "reboot", "step_wall")), looks=st.booleans())
    def time_goes_on(self, seconds, how, looks):
        """Awake, asleep or through a boot; or the clock is set. The runner may look, and notices."""
        if how == "reboot":
            self.clock.reboot()
        else:
            getattr(self.clock, how)(seconds)
        if looks:
            self.the_runner_looks()

    @precondition(lambda self: any(row.not_before > 0 for row in self.model.rows.values()))
    @rule(seconds=st.sampled_from(SECONDS))
    def the_clock_is_set_back(self, seconds):
        """While there is something that waits for its time: a backoff is cut then, a person's delay is not."""
        self.clock.step_wall(-seconds)
        self.the_runner_looks()

    def the_runner_looks(self):
        with self.database.write():
            claim.clamp_backoff(self.database, self.clock.wall())
            claim.make_due(self.database, self.clock.wall())
        self.model.clamp_backoff(self.clock.wall())
        self.model.make_due(self.clock.wall())

    # --- the person --------------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.rows)
    @rule(number=job_numbers, what=st.sampled_from(tuple(PERSON)))
    def the_person(self, number, what):
        self.person_says(what, self.some(number, PERSON[what]))

    @precondition(lambda self: self.model.rows)
    @rule(number=job_numbers)
    def the_person_retries_from_here_on(self, number):
        for row in list(self.model.rows.values())[number // 8 :]:
            if row.state in OVER:
                self.person_says("retry", row)

    @precondition(lambda self: self.model.running() is not None)
    @rule(how=st.sampled_from((None, "exit 0", "exit 3", "killed", "no start", "unproven")))
    def the_person_cancels_what_runs(self, how):
        """Also after the runner has read the row and before it writes how that ended."""
        row = self.model.running()
        read = self.queue.get(row.id)
        self.person_says("cancel", row)
        if how is not None:
            self.end(read, how)

    @precondition(lambda self: self.model.rows)
    @rule(
        number=job_numbers,
        change=st.sampled_from((("priority", 7), ("max_attempts", 3), ("once", True), ("delay", 0.0), ("delay", 30.0), ("expires", 9.0))),
    )
    def the_person_edits(self, number, change):
        row = self.some(number, lambda row: row.state in WAITING and (row.backoff is not None or number % 4 > 1))
        name, value = change
        if name in ("delay", "expires"):
            name = {"delay": "not_before", "expires": "expires_at"}[name]
            value = self.clock.wall() + value if value else 0.0
        edit = Edit()
        edit.set(name, value)
        self.person_does(self.model.edit(row, name, value), partial(person.edit, self.database, row.id, edit, self.clock.wall()))

    def person_says(self, what, row):
        self.person_does(getattr(self.model, what)(row), partial(getattr(person, what), self.database, row.id, self.clock.wall()))

    def person_does(self, accepted, do):
        def in_transaction():
            with self.database.write():
                do()

        if accepted:
            in_transaction()
        else:
            self.refused(in_transaction)

    # --- what is asked of both ---------------------------------------------------------------------------------------------------

    def some(self, number, fits):
        """One of the model's rows; mostly one of which that can be said, so that not all is refused."""
        rows = list(self.model.rows.values())
        fit = [row for row in rows if fits(row)] if number % 4 else []
        return (fit or rows)[number // 4 % len(fit or rows)]

    def handle(self, which):
        """A job as it was when it was claimed, the last one first."""
        return self.claimed[-1 - which % len(self.claimed)]

    def lives(self, job):
        """Whether this very run still runs."""
        row = self.model.rows[job.id]
        return row.state == "running" and row.run == job.run

    def nothing_happens(self, say):
        before = self.database._connection.total_changes
        assert say() is False
        assert self.database._connection.total_changes == before

    def refused(self, do):
        before = self.database._connection.total_changes
        try:
            do()
        except Refused:
            assert self.database._connection.total_changes == before
        else:
            raise AssertionError("this should have been refused")

    @invariant()
    def agree(self):
        """Every job that was ever added is there, as the model says it is; one at most runs; no row waits with a cancel."""
        rows = [dict(row) for row in self.database.rows(f"SELECT {COLUMNS}, finished_at IS NOT NULL AS over FROM jobs ORDER BY id")]
        assert all(row.pop("over") == (row["state"] in FINISHED) for row in rows)
        assert rows == [{name: getattr(row, name) for name in SHOWN} for row in self.model.rows.values()]
        assert sum(row["state"] == "running" for row in rows) <= 1
        assert not [row for row in rows if row["cancel_requested"] and row["state"] in WAITING]

    @invariant()
    def each_change_has_its_event(self):
        """Played from the beginning, a job's events lead through the table of transitions to the state in which it is."""
        for event in self.database.rows("SELECT id, job, at, kind, detail FROM events WHERE id > ? ORDER BY id", (self.last_event,)):
            assert event["at"] == self.clock.wall()
            self.last_event = event["id"]
            self.kinds.setdefault(event["job"], []).append(event["kind"])
            if event["kind"] not in NOTES:
                self.states[event["job"]] = follow(self.states.get(event["job"]), event)
        assert self.kinds == {number: row.told for number, row in self.model.rows.items()}
        assert self.states == {number: row.state for number, row in self.model.rows.items()}

    @invariant()
    def the_tally_is_right(self):
        counted = Counter(row.state for row in self.model.rows.values())
        counted["unseen"] = self.database.row("SELECT count(*) AS n FROM jobs WHERE state = 'failed' AND seen = 0")["n"]
        tally = {row["what"]: row["jobs"] for row in self.database.rows("SELECT what, jobs FROM tally")}
        assert tally == {**dict.fromkeys(map(str, State), 0), **counted}


def follow(state, event):
    """The state after an event; there is one way to go."""
    found = {to for before, to, kind in TRANSITIONS if (before, kind) == (state, event["kind"])}
    if event["kind"] == "added" and state is None:
        return State.HELD if event["detail"] == "held" else State.PENDING
    assert len(found) == 1, (state, event["kind"])
    return found.pop()

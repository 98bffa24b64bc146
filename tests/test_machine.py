"""A random walk over the table of transitions: the store and a model of it must agree at each step (DESIGN 1 and 3).

The suite's walks are always the same. `SLOTHTRAY_EXAMPLES=5000 pytest tests/test_machine.py --timeout=0` takes others each time,
so many of them, and plants all the faults below rather than a few.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from mutants import plant
from queue_machine import QueueMachine

from slothtray.errors import SlothtrayError

EXAMPLES = os.environ.get("SLOTHTRAY_EXAMPLES")
WALK = settings(
    max_examples=int(EXAMPLES or 100),
    stateful_step_count=50,
    deadline=None,
    derandomize=EXAMPLES is None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
HUNT = settings(WALK, max_examples=500, phases=[Phase.generate], print_blob=False, derandomize=True)
"""Ends with the first walk that shows the fault: nobody wants to read the shortest one."""

LEASE_WORDS = "job.boot == boot and job.lease_until is not None and self.clock.awake() < job.lease_until"
FAULTS = {
    # What is planted: where, what stands there, what stands there instead.
    "two run at once": ("store.claim:take", "if database.row(", "if 0 and database.row("),
    "the lowest priority goes first": ("store.claim:NEXT", "SELECT max(priority) FROM jobs WHERE state = 'pending'\n", "SELECT min(priority) FROM jobs WHERE state = 'pending'\n"),
    "last in, first out": ("store.claim:NEXT", "ORDER BY id LIMIT", "ORDER BY id DESC LIMIT"),
    "what waits is claimed": ("store.claim:NEXT", " AND not_before = 0", ""),
    "a minute too early": ("store.claim:make_due", "not_before <= ?\", (now,", "not_before <= ?\", (now + 60,"),
    "in the order in which they came due": ("store.claim:make_due", "SET not_before = 0 WHERE", "SET not_before = not_before WHERE"),
    "nothing expires": ("store.claim:make_due", "in expired(database, now)", "in []"),
    "what was started expires": ("store.claim:EXPIRING", " AND started_at IS NULL", ""),
    "told to start, it keeps its old wait": ("store.claim:take", '"not_before": 0,', '"not_before": job.not_before,'),
    "told to start, it is told for ever": ("store.claim:take", '"start_now": 0,', ""),
    "an attempt is not counted": ("store.claim:take", "job.attempts + 1,", "job.attempts,"),
    "a backoff outlasts the clock": ("store.claim:clamp_backoff", "database.execute(sql, (now, now))", "pass"),
    "whoever held it once may end it": ("store.changes:_change", "run IS ? AND", "(run IS ? OR 1) AND"),
    "a change without an event": ("store.changes:_change", "note(database, job.id, now, kind, detail)", "pass"),
    "an event too many": ("store.changes:_change", "note(database, job.id, now, kind, detail)", "note(database, job.id, now, kind, detail)\n    note(database, job.id, now, kind, detail)"),
    "what fails sets free": ("store.changes:_settle_dependents", "if state is State.DONE", "if True"),
    "what is done cancels": ("store.changes:_settle_dependents", "if state is State.DONE", "if False"),
    "what was set free is cancelled": ("store.changes:_settle_dependents", "not_before = ? AND", "not_before >= 0 * ? AND"),
    "only the next of a chain is cancelled": ("store.changes:move", "over += _settle", "_settle"),
    "the delay behind a dependency is lost": ("store.changes:_settle_dependents", "SET not_before = earliest", "SET not_before = 0"),
    "a run that is over is ended again": ("store.queue:_same_run", "current.state is State.RUNNING and ", ""),
    "a lost run is ended": ("store.queue:_same_run", " and current.run == job.run", ""),
    "a late cancel is forgotten": ("store.queue:Queue.apply", "if current.cancel_requested", "if False"),
    "a lost lease is extended": ("store.queue:Queue.heartbeat", "run IS ? AND", "(run IS ? OR 1) AND"),
    "a lease outlasts a boot": ("store.queue:Queue._by_lease", LEASE_WORDS, LEASE_WORDS.replace("job.boot == boot and ", "")),
    "a lease expires with the lid closed": ("store.queue:Queue._by_lease", LEASE_WORDS, LEASE_WORDS.replace("awake", "elapsed")),
    "an unlucky job is never failed": ("policy:after_failure", "job.failures + 1", "job.failures"),
    "one attempt too many": ("policy:after_failure", "failures >= attempts", "failures > attempts"),
    "only once, but again": ("policy:after_interruption", "if job.once", "if False"),
    "the eleventh interruption": ("policy:after_interruption", "count >= INTERRUPTION_LIMIT", "count > INTERRUPTION_LIMIT"),
    "what never began counts": ("policy:after_no_start", "job.attempts - 1", "job.attempts"),
    "a fourth start that fails": ("policy:after_no_start", "count >= UNSTARTED_LIMIT", "count > UNSTARTED_LIMIT"),
    "unstarted is not in a row": ("policy:after_result", '"unstarted": 0,', ""),
    "no backoff": ("policy:backoff", "min(2.0 ** min(count, 60), cap)", "0.0"),
    "no cap": ("policy:backoff", "min(2.0 ** min(count, 60), cap)", "2.0 ** count"),
    "127 is tried again": ("policy:after_result", "or result.code in CANNOT_EXEC", ""),
    "done without a result": ("policy:after_interruption", "if job.once", "if count == 2:\n        return Change(State.DONE, 'done', words, {**columns, 'finished_at': now})\n    if job.once"),
    "cancelled while it runs": ("store.person:cancel", "if job.state is State.RUNNING", "if False"),
    "a running job is held": ("store.person:hold", "if job.state is not State.PENDING", "if False"),
    "a held job is released with its past": ("store.person:release", "**FRESH, ", ""),
    "a release forgets what it waits for": ("store.person:release", "job.not_before if never_ran else 0", "0"),
    "a retry forgets what it waits for": ("store.person:retry", "NEVER if waits else 0", "0"),
    "an edit forgets what it waits for": ("store.editing:_new_time", "if job.not_before == NEVER", "if False"),
    "an edited time is still a backoff": ("store.editing:_new_time", ', "backoff": None', ""),
    "a namesake is added": ("store.adding:_living_namesake", "if not job.unique", "if True"),
    "nothing waits for another job": ("store.adding:_has_to_wait_for", "return first.state is not State.DONE", "return False"),
}  # fmt: skip


FEW = (
    *("two run at once", "whoever held it once may end it", "a late cancel is forgotten", "a run that is over is ended again"),
    *("an unlucky job is never failed", "an attempt is not counted", "a change without an event", "in the order in which they came due"),
    *("what never began counts", "the eleventh interruption", "a fourth start that fails", "a lease expires with the lid closed"),
)


def test_the_store_and_the_model_agree():
    run_state_machine_as_test(QueueMachine, settings=WALK)


@pytest.mark.parametrize("name", FAULTS if EXAMPLES else FEW)
def test_the_machine_finds_a_planted_fault(name, monkeypatch):
    plant(monkeypatch, *FAULTS[name])
    with pytest.raises((AssertionError, SlothtrayError)):
        run_state_machine_as_test(QueueMachine, settings=HUNT)

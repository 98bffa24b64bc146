"""The decisions, without a machine: what a running row means, what an end changes, why a due job waits."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray import policy
from slothtray.model import FINISHED, TRANSITIONS, Face, Job, Load, Result, RunRecord, Started, State
from slothtray.policy import Evidence, Gates, Instant, Verdict

NOW = 1_700_000_000.0
STARTED = Started(pid=7, start=1, boot="b", cgroup="", at=NOW)


def job(**fields):
    """A running job in its first attempt."""
    plain = dict.fromkeys(Job._fields)
    plain.update(id=1, state=State.RUNNING, command="true", argv=("true",), priority=0, attempts=1, failures=0, interruptions=0)
    plain.update(unstarted=0, once=False, created_at=NOW, not_before=0.0, cwd="/", umask=0o22, run="1-abc", cancel_requested=False)
    plain.update(start_now=False, seen=True, dropped=())
    return Job(**{**plain, **fields})


def result(why="exit", code=0, signal=None, error="", left=0, ran=0.0):
    return Result(why, code, signal, error, left, ran, NOW)


# --- the verdict -----------------------------------------------------------------------------------------------------------------

RECORDS = (None, RunRecord(None, None, (), None), RunRecord(STARTED, None, (), None), RunRecord(STARTED, None, (), result()))
EVERYTHING = [Evidence(*flags, record) for flags in itertools.product([True, False], repeat=5) for record in RECORDS]
"""All that there can be: same machine, same boot, claimed through the library, its lease lives, lock held; and the record."""
RULES = [
    # The first that fits decides; written again from DESIGN 3, not from the code.
    (lambda e: not e.same_machine, Verdict.HOLD_FOREIGN),
    (lambda e: e.library_claim and e.lease_lives, Verdict.WAIT_LEASE),
    (lambda e: e.library_claim, Verdict.RECLAIM),
    (lambda e: e.lock_held, Verdict.ADOPT),
    (lambda e: e.record is not None and e.record.result is not None, Verdict.RECORD),
    (lambda e: not e.same_boot, Verdict.RECLAIM),
    (lambda e: e.record is None, Verdict.SWEEP_COOKIE),
    (lambda e: e.record.started is None, Verdict.UNSTARTED),
    (lambda _: True, Verdict.SWEEP),
]


def test_a_running_row_is_judged_by_the_first_rule_that_fits():
    for evidence in EVERYTHING:
        assert policy.verdict(evidence) is next(verdict for fits, verdict in RULES if fits(evidence)), evidence


def test_no_run_whose_lock_is_held_here_is_ever_called_over():
    for evidence in EVERYTHING:
        if evidence.lock_held and evidence.same_machine and not evidence.library_claim:
            assert policy.verdict(evidence) is Verdict.ADOPT


def test_each_verdict_can_come_about():
    assert {policy.verdict(evidence) for evidence in EVERYTHING} == set(Verdict)


# --- the backoff -----------------------------------------------------------------------------------------------------------------


def test_the_backoff_doubles_from_2_s_to_its_cap():
    assert [policy.backoff(count, 3600) for count in range(1, 14)] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]


@given(st.integers(1, 10**9), st.floats(0, 1e12))
def test_a_backoff_never_shrinks_and_never_passes_its_cap(count, cap):
    assert 0 <= policy.backoff(count, cap) <= policy.backoff(count + 1, cap) <= cap


# --- how an end changes its job --------------------------------------------------------------------------------------------------

ENDS = [
    (result(code=0), "ok"),
    (result(code=0, left=2), "ok, left 2 running"),
    (result(code=3), "exit 3"),
    (result(code=3, ran=75.0), "exit 3 after 1 min 15 s"),
    (result(code=None, signal=9, ran=2.0), "signal 9 after 2 s"),
    (result("exec", None, error="prog: No such file or directory"), "could not start: prog: No such file or directory"),
    (result("timeout", None, 15, ran=60.0), "timed out after 1 min"),
    (result("cancel", None, 15), "cancelled"),
    (result("interrupted", None, 15, ran=1.0), "interrupted after 1 s"),
]


@pytest.mark.parametrize(("end", "words"), ENDS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_end_is_told_in_these_words(end, words):
    assert policy.outcome_words(end) == words


@pytest.mark.parametrize(
    ("end", "limit", "state", "kind"),
    [
        (result(code=0), 1, State.DONE, "done"),
        (result(code=0, left=1), 1, State.DONE, "done"),
        (result(code=1), 1, State.FAILED, "failed"),
        (result(code=1), 2, State.PENDING, "retry"),
        (result(code=None, signal=9), 2, State.PENDING, "retry"),
        (result(code=126), 9, State.FAILED, "failed"),
        (result(code=127), 9, State.FAILED, "failed"),
        (result("exec", None, error="x"), 9, State.FAILED, "failed"),
        (result("exec", None, error="log /l/1.log: Permission denied"), 9, State.FAILED, "failed"),
        (result("exec", None, error="folder /: No space left on device"), 9, State.FAILED, "failed"),
        (result("exec", None, error="log /l/1.log: No space left on device"), 1, State.PENDING, "unstarted"),
        (result("exec", None, error="log /l/1.log: Disk quota exceeded"), 1, State.PENDING, "unstarted"),
        (result("timeout", None, 15), 1, State.FAILED, "failed"),
        (result("timeout", None, 15), 2, State.PENDING, "retry"),
        (result("timeout", 0), 1, State.FAILED, "failed"),  # a job that ended well only because it was told to end
        (result("cancel", None, 15), 9, State.CANCELLED, "cancelled"),
        (result("cancel", 0), 9, State.CANCELLED, "cancelled"),
        (result("interrupted", None, 15), 1, State.PENDING, "reclaimed"),
        (result("interrupted", 0), 1, State.PENDING, "reclaimed"),
    ],
)
def test_an_end_leads_to_this_state(end, limit, state, kind):
    change = policy.after_result(job(), end, NOW, limit, 3600)
    assert (change.to, change.kind) == (state, kind)


def test_a_failure_counts_waits_and_says_when_it_is_tried_again():
    change = policy.after_result(job(failures=1, attempts=2), result(code=5), NOW, 4, 3600)
    assert (change.kind, change.detail) == ("retry", "exit 5; again in 4 s")
    assert {name: change.columns[name] for name in ("failures", "not_before", "backoff", "exit_code", "message", "finished_at")} == {
        "failures": 2, "not_before": NOW + 4, "backoff": 4, "exit_code": 5, "message": "exit 5", "finished_at": None,
    }  # fmt: skip


def test_the_last_failure_is_one_nobody_has_seen():
    change = policy.after_result(job(failures=3), result(code=5), NOW, 4, 3600)
    assert (change.to, change.columns["failures"], change.columns["seen"]) == (State.FAILED, 4, 0)


def test_an_interruption_is_no_failure_and_the_tenth_is_held():
    changes = [policy.after_result(job(interruptions=count), result("interrupted", None, 15), NOW, 1, 3600) for count in range(10)]
    assert [change.to for change in changes] == [State.PENDING] * 9 + [State.HELD]
    assert [change.columns["interruptions"] for change in changes] == list(range(1, 11))
    assert all("failures" not in change.columns for change in changes)
    assert changes[-1].columns["reason"] == "interrupted, for the 10th time"


def test_a_job_that_may_run_only_once_is_held_when_it_was_interrupted():
    change = policy.after_interruption(job(once=True), "the machine was restarted", NOW)
    assert (change.to, change.columns["reason"]) == (State.HELD, "the machine was restarted, and it may run only once")


def test_what_never_began_does_not_count_waits_2_and_4_s_and_is_held_the_third_time():
    changes = [policy.after_no_start(job(unstarted=count), "no python", NOW, 3600) for count in range(3)]
    assert [change.to for change in changes] == [State.PENDING, State.PENDING, State.HELD]
    assert [change.columns["attempts"] for change in changes] == [0, 0, 0]
    assert [change.columns.get("not_before") for change in changes] == [NOW + 2, NOW + 4, None]
    assert changes[2].columns["reason"] == "could not be started 3 times: no python"


ANY_JOB = st.builds(
    job,
    failures=st.integers(0, 5), interruptions=st.integers(0, 12), unstarted=st.integers(0, 5), attempts=st.integers(1, 20),
    once=st.booleans(), cancel_requested=st.booleans(),
)  # fmt: skip
ANY_CODE = st.one_of(st.tuples(st.integers(0, 255), st.none()), st.tuples(st.none(), st.integers(1, 64)))
ANY_RESULT = st.builds(
    lambda why, end, left, ran: result(why, end[0], end[1], "reason" if why == "exec" else "", left, ran),
    st.sampled_from(["exit", "exec", "timeout", "cancel", "interrupted"]), ANY_CODE, st.integers(0, 3), st.floats(0, 1e6),
)  # fmt: skip


@given(ANY_JOB, ANY_RESULT, st.integers(1, 5), st.floats(1, 1e5))
def test_every_end_is_a_change_of_the_table_and_nothing_that_was_to_be_cancelled_waits_or_is_held(one, end, limit, cap):
    change = policy.after_result(one, end, NOW, limit, cap)
    assert (State.RUNNING, change.to, change.kind) in TRANSITIONS
    if one.cancel_requested:
        assert change.to in FINISHED
    if change.to in FINISHED:
        assert change.columns["finished_at"] is not None
    if change.to is State.PENDING and change.kind == "retry":
        assert NOW < change.columns["not_before"] <= NOW + cap
    assert (change.to is State.DONE) == (end.why == "exit" and end.code == 0)


@given(ANY_JOB, st.integers(0, 2), st.floats(1, 1e5))
def test_neither_does_what_was_lost_or_never_began(one, way, cap):
    ways = (policy.after_no_start(one, "words", NOW, cap), policy.after_interruption(one, "words", NOW), policy.held(one, "words", NOW))
    change = ways[way]
    assert (State.RUNNING, change.to, change.kind) in TRANSITIONS
    assert change.to in ((State.CANCELLED,) if one.cancel_requested else (State.PENDING, State.HELD))
    assert policy.cancelled_meanwhile(change, NOW).to is State.CANCELLED


def test_a_cancel_that_comes_after_the_look_still_wins_over_a_retry_but_not_over_an_end():
    retry = policy.after_result(job(), result(code=1), NOW, 2, 3600)
    late = policy.cancelled_meanwhile(retry, NOW)
    assert (late.to, late.columns["finished_at"]) == (State.CANCELLED, NOW)
    assert not {"not_before", "backoff"} & set(late.columns)
    done = policy.after_result(job(), result(code=0), NOW, 2, 3600)
    assert policy.cancelled_meanwhile(done, NOW) == done


# --- why a due job waits ---------------------------------------------------------------------------------------------------------

HERE = Instant(wall=NOW, awake=500.0)
OPEN = Gates(False, None, 0.0, 0.0, "", None, None)
HIGH = Load(one=3.01, own=0.1, foreign=2.91, ceiling=1.5)


def at(wall):
    return time.strftime("%H:%M", time.localtime(wall))


def test_with_all_gates_open_nothing_waits():
    assert policy.waits(HERE, OPEN) == []


@pytest.mark.parametrize(
    ("gates", "gate", "reason", "until"),
    [
        (OPEN._replace(storage="no run record can be made"), "storage", "no run record can be made", None),
        (OPEN._replace(paused=True), "pause", "paused", None),
        (OPEN._replace(paused=True, paused_until=NOW + 600), "pause", f"paused until {at(NOW + 600)}", NOW + 600),
        (OPEN._replace(settle_until=512.0), "settle", "just woke up: 12 s to settle", NOW + 12),
        (OPEN._replace(cooldown_until=503.5), "cooldown", "cooldown: 3.5 s left", NOW + 3.5),
        (OPEN._replace(load=HIGH, load_since=NOW - 60), "load", f"load 2.91 > 1.50 (own 0.10 taken off) since {at(NOW - 60)}", None),
        (OPEN._replace(load=Load(1.5, 0.0, 1.5, 1.5)), "load", "load 1.50 ≥ 1.50", None),
        (OPEN._replace(load=Load(1.504, 0.0, 1.504, 1.5)), "load", "load 1.50 ≥ 1.50", None),
    ],
)
def test_a_shut_gate_says_why_with_its_figure_and_until_when(gates, gate, reason, until):
    (wait,) = policy.waits(HERE, gates)
    assert (wait.gate, wait.reason, wait.until) == (gate, reason, until)


@pytest.mark.parametrize(
    "gates",
    [
        OPEN._replace(paused=True, paused_until=NOW),  # its time is over
        OPEN._replace(settle_until=500.0, cooldown_until=500.0),
        OPEN._replace(load=Load(1.4, 0.0, 1.4, 1.5)),
        OPEN._replace(load=Load(9.0, 8.0, 1.0, 1.5)),  # our own job put it there
        OPEN._replace(load=Load(9.0, 0.0, 9.0, None)),  # the gate is off
    ],
)
def test_a_gate_is_open_when_its_time_or_its_load_is_over(gates):
    assert policy.waits(HERE, gates) == []


def test_of_several_shut_gates_the_one_that_matters_most_comes_first():
    shut = Gates(True, None, 600.0, 600.0, "no record", HIGH, NOW)
    assert [wait.gate for wait in policy.waits(HERE, shut)] == ["storage", "pause", "settle", "cooldown", "load"]


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0.01, 100))
def test_the_load_gate_is_shut_exactly_while_the_foreign_load_reaches_the_ceiling(one, own, ceiling):
    load = policy.measured(one, own, ceiling)
    assert load.foreign == max(0.0, one - own)
    assert bool(policy.waits(HERE, OPEN._replace(load=load))) == (load.foreign >= ceiling)


@given(st.floats(0, 50), st.integers(0, 50), st.floats(0, 3600), st.floats(0, 3600))
def test_our_own_load_moves_towards_what_runs_and_never_past_it_however_it_is_sampled(before, tasks, first, second):
    once = policy.own_load(before, tasks, first + second)
    twice = policy.own_load(policy.own_load(before, tasks, first), tasks, second)
    assert min(before, tasks) - 1e-9 <= once <= max(before, tasks) + 1e-9
    assert once == pytest.approx(twice, abs=1e-6)


def test_our_own_load_grows_as_the_kernels_does():
    assert policy.own_load(0.0, 1, 60.0) == pytest.approx(0.632, abs=0.005)  # 1 - 1/e after its minute
    assert policy.own_load(1.0, 0, 60.0) == pytest.approx(0.368, abs=0.005)


def test_the_face_is_running_before_paused_before_waiting_before_idle():
    faces = [policy.face(running=r, paused=p, waiting=w) for r, p, w in itertools.product([True, False], repeat=3)]
    assert faces == [Face.RUNNING] * 4 + [Face.PAUSED] * 2 + [Face.WAITING, Face.IDLE]

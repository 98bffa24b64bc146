"""What came out of the random walks, and of reading with them in mind: each a way in which a job was lost, stuck or run amiss."""

import pytest

from slothtray import ManualClock, Queue, State
from slothtray.model import Result
from slothtray.policy import after_interruption, after_no_start, after_result, held
from slothtray.store import claim, person
from slothtray.store.adding import NewJob
from slothtray.store.editing import Edit


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def queue(tmp_path, clock):
    with Queue(str(tmp_path / "queue" / "queue.db"), clock) as made:
        made.database.execute("PRAGMA synchronous=OFF")
        yield made


@pytest.fixture
def add(queue):
    """Adds a job; its id."""
    return lambda **options: queue.enqueue([NewJob("make", ("make",), cwd="/", **options)])[0]


@pytest.fixture
def say(queue, clock):
    """What a person says to a job, by the function's name in `store.person`."""

    def say(what, number, *more):
        with queue.database.write():
            getattr(person, what)(queue.database, number, *more, clock.wall())

    return say


@pytest.fixture
def run(queue, clock):
    """Claims the next job as the runner does; the job as read then."""

    def run():
        claimant = claim.Claimant(str(len(queue.database.rows("SELECT id FROM events"))), clock.boot_id(), clock.awake() + 60, machine="machine")
        with queue.database.write():
            return claim.take(queue.database, claimant, clock.wall())

    return run


@pytest.fixture
def apply(queue, clock):
    def apply(job, change):
        with queue.database.write():
            return queue.apply(job, change, clock.wall())

    return apply


def failed(job, now):
    return after_result(job, Result("exit", 3, None, "", 0, 1.0, now), now, 2, 3600.0)


def state(queue, number):
    return queue.get(number).state


# --- cancel ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending",
    [
        failed,
        lambda job, now: after_interruption(job, "killed", now),
        lambda job, now: after_no_start(job, "no start", now, 3600.0),
        lambda job, now: held(job, "may live", now),
    ],
    ids=["retry", "reclaimed", "unstarted", "held"],
)
def test_a_cancel_that_comes_between_a_runs_end_and_its_record_is_kept(queue, clock, add, say, run, apply, ending):
    number = add()
    job = run()
    change = ending(job, clock.wall())
    say("cancel", number)
    assert apply(job, change)
    now = queue.get(number)
    assert (now.state, now.finished_at, now.not_before) == (State.CANCELLED, clock.wall(), 0)
    assert now.message == (change.columns.get("message") or change.detail)
    assert [event.kind for event in queue.events(number)] == ["added", "claimed", "cancel requested", "cancelled"]


def test_a_long_chain_is_cancelled_with_its_first(queue, add, say):
    numbers = [add()]
    for _ in range(1500):
        numbers.append(add(after=numbers[-1]))
    say("cancel", numbers[0])
    assert {state(queue, number) for number in numbers} == {State.CANCELLED}
    assert queue.get(numbers[-1]).message == f"job {numbers[-2]} cancelled"


# --- the word of a worker that has spoken already ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["fail", "complete"])
def test_a_worker_that_says_fail_again_is_told_that_it_is_late(queue, first):
    queue.add("make")
    job = queue.claim(lease=30)
    queue.complete(job) if first == "complete" else queue.fail(job, "exit 2")
    before = queue.get(job.id)
    assert not queue.fail(job, "exit 2")
    assert queue.get(job.id) == before


# --- told to start ----------------------------------------------------------------------------------------------------------------


def test_a_delayed_job_that_was_told_to_start_goes_on_at_once_after_an_interruption(queue, clock, add, say, run, apply):
    number = add(not_before=clock.wall() + 3600)
    say("start", number)
    job = run()
    apply(job, after_interruption(job, "killed", clock.wall()))
    assert run().id == number


def test_a_job_told_to_start_before_the_one_it_waits_for_is_not_stuck_when_that_is_cancelled(queue, clock, add, say, run, apply):
    first = add()
    second = add(after=first)
    say("start", second)
    job = run()
    say("cancel", first)
    apply(job, after_interruption(job, "killed", clock.wall()))
    assert run().id == second


@pytest.mark.parametrize("words", [("hold", "release"), ("cancel", "retry")])
def test_a_new_beginning_forgets_that_it_was_told_to_start(queue, add, say, words):
    number = add()
    say("start", number)
    for word in words:
        say(word, number)
    assert not queue.get(number).start_now


# --- waiting for another job -----------------------------------------------------------------------------------------------------


def test_a_job_waits_for_another_one_and_for_its_time(queue, clock, add, run):
    first = add()
    second = add(after=first, not_before=clock.wall() + 3600)
    queue.complete(run())
    assert run() is None
    assert queue.get(second).not_before == clock.wall() + 3600
    clock.advance(3600)
    assert run().id == second


def test_a_new_time_does_not_take_the_place_of_the_job_that_is_waited_for(queue, clock, add, say, run):
    first = add()
    second = add(after=first)
    edit = Edit()
    edit.set("not_before", clock.wall() + 60)
    say("edit", second, edit)
    clock.advance(90)
    assert run().id == first
    assert queue.get(second).not_before == float("inf")


def test_two_that_are_retried_together_keep_their_order(queue, add, say, run):
    first = add()
    second = add(after=first, priority=5)
    say("cancel", first)
    say("retry", first)
    say("retry", second)
    job = run()
    assert job.id == first
    queue.complete(job)
    assert run().id == second


def test_one_that_was_set_free_is_not_cancelled_by_what_becomes_of_the_other_later(queue, add, say, run):
    first = add()
    second = add(after=first)
    queue.complete(run())
    say("retry", first)
    say("cancel", first)
    assert run().id == second


# --- expires ---------------------------------------------------------------------------------------------------------------------


def test_a_job_that_was_started_in_time_does_not_expire_before_its_next_attempt(queue, clock, add, run, apply):
    number = add(expires_at=clock.wall() + 60)
    job = run()
    apply(job, after_interruption(job, "killed", clock.wall()))
    clock.advance(3600)
    assert run().id == number


def test_one_that_never_began_still_expires(queue, clock, add, run, apply):
    number = add(expires_at=clock.wall() + 60)
    job = run()
    apply(job, after_no_start(job, "no start", clock.wall(), 3600.0))
    clock.advance(3600)
    assert run() is None
    assert queue.events(number)[-1].kind == "expired"


def test_a_release_does_not_let_expire_what_was_started(queue, clock, add, say, run, apply):
    number = add(expires_at=clock.wall() + 60)
    job = run()
    apply(job, held(job, "may live", clock.wall()))
    clock.advance(3600)
    say("release", number)
    assert run().id == number


# --- backoff ---------------------------------------------------------------------------------------------------------------------


def test_a_new_time_is_no_backoff(queue, clock, add, say, run, apply):
    """A backoff is cut when the wall clock is set back, and at an app's start; what a person asked for is not."""
    number = add()
    job = run()
    apply(job, failed(job, clock.wall()))
    wanted = clock.wall() + 7200
    edit = Edit()
    edit.set("not_before", wanted)
    say("edit", number, edit)
    with queue.database.write():
        claim.clamp_backoff(queue.database, clock.wall())
    assert queue.get(number).not_before == wanted
    assert queue.events(number)[-1].detail == "not_before"


def test_a_release_ends_the_wait_after_a_failed_start(queue, clock, add, say, run, apply):
    number = add()
    job = run()
    apply(job, after_no_start(job, "no start", clock.wall(), 3600.0))
    say("hold", number)
    clock.step_wall(-86400)
    say("release", number)
    assert run().id == number

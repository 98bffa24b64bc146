"""The library of old: a patient queue, driven by a clock that is set by hand. Nothing here sleeps."""

import pytest
from harness import eventually

from slothtray import ManualClock, Queue, State
from slothtray.errors import Refused, Usage


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def queue(tmp_path, clock):
    with Queue(str(tmp_path / "queue" / "queue.db"), clock=clock) as made:
        yield made


def kinds(queue, job):
    return [event.kind for event in queue.events(job.id)]


def test_a_claim_reserves_the_job_and_counts_the_attempt(queue):
    job = queue.add("make")
    claimed = queue.claim(lease=30)
    assert (claimed.id, claimed.state, claimed.attempts) == (job.id, State.RUNNING, 1)
    assert queue.claim(lease=30) is None


def test_a_claim_without_jobs_gives_none(queue):
    assert queue.claim(lease=30) is None


def test_a_heartbeat_extends_the_lease(queue, clock):
    queue.add("make")
    job = queue.claim(lease=30)
    clock.advance(29)
    assert queue.heartbeat(job, lease=30)
    assert queue.get(job.id).lease_until == clock.awake() + 30
    clock.advance(29)
    assert queue.claim(lease=30) is None
    clock.advance(2)
    assert queue.claim(lease=30).attempts == 2


def test_a_heartbeat_of_a_lost_job_says_so(queue, clock):
    queue.add("make")
    mine = queue.claim(lease=30)
    clock.advance(31)
    theirs = queue.claim(lease=30)
    assert theirs.id == mine.id
    assert not queue.heartbeat(mine, lease=30)
    assert not queue.complete(mine)
    assert not queue.fail(mine, "too late")
    assert queue.heartbeat(theirs, lease=30)


def test_complete_keeps_the_message(queue, clock):
    job = queue.add("make")
    clock.advance(5)
    assert queue.complete(queue.claim(lease=30), message="built 12 files")
    done = queue.get(job.id)
    assert (done.state, done.message, done.exit_code) == (State.DONE, "built 12 files", 0)
    assert done.finished_at == clock.wall()
    assert kinds(queue, job) == ["added", "claimed", "done"]


def test_completing_twice_changes_nothing(queue):
    queue.add("make")
    job = queue.claim(lease=30)
    assert queue.complete(job, message="first")
    assert not queue.complete(job, message="second")
    assert queue.get(job.id).message == "first"


def test_silence_after_a_crash_lets_the_lease_expire(queue, clock):
    job = queue.add("make")
    queue.claim(lease=30)
    clock.advance(30)
    again = queue.claim(lease=30)
    assert (again.id, again.attempts, again.interruptions, again.failures) == (job.id, 2, 1, 0)
    assert kinds(queue, job) == ["added", "claimed", "reclaimed", "claimed"]


def test_a_closed_lid_does_not_expire_a_lease_but_silence_after_it_does(queue, clock):
    queue.add("make")
    queue.claim(lease=30)
    clock.suspend(8 * 3600)
    assert queue.claim(lease=30) is None
    clock.advance(31)
    assert queue.claim(lease=30).attempts == 2


def test_a_reboot_ends_every_lease(queue, clock):
    queue.add("make")
    queue.claim(lease=3600)
    clock.reboot()
    assert queue.claim(lease=30).attempts == 2


def test_failures_wait_2_4_8_s_and_the_limit_ends_in_failed(queue, clock):
    job = queue.add("make")
    for wait in (2, 4, 8):
        assert queue.fail(queue.claim(lease=30), "exit 2", exit_code=2)
        waiting = queue.get(job.id)
        assert (waiting.state, waiting.not_before) == (State.PENDING, clock.wall() + wait)
        clock.advance(wait - 0.5)
        assert queue.claim(lease=30) is None
        clock.advance(0.5)
    queue.fail(queue.claim(lease=30), "exit 2", exit_code=2)
    failed = queue.get(job.id)
    assert (failed.state, failed.attempts, failed.failures, failed.exit_code) == (State.FAILED, 4, 4, 2)
    assert kinds(queue, job) == ["added", *["claimed", "retry"] * 3, "claimed", "failed"]


def test_the_backoff_is_capped(tmp_path, clock):
    with Queue(str(tmp_path / "queue.db"), clock=clock, backoff_cap=10) as queue:
        job = queue.add("make", max_attempts=20)
        for _ in range(6):
            queue.fail(queue.claim(lease=30), "no")
            clock.advance(queue.get(job.id).not_before - clock.wall())
        queue.fail(queue.claim(lease=30), "no")
        assert queue.get(job.id).not_before == clock.wall() + 10


def test_only_what_is_due_is_claimed(queue, clock):
    later = queue.add("later", delay=60)
    now = queue.add("now")
    first = queue.claim(lease=30)
    assert first.id == now.id
    queue.complete(first)
    assert queue.claim(lease=30) is None
    clock.advance(60)
    assert queue.claim(lease=30).id == later.id


def test_the_highest_priority_goes_first_then_first_in(queue):
    ids = {name: queue.add(name, priority=priority).id for name, priority in [("a", 0), ("b", 5), ("c", -20), ("d", 5), ("e", 19)]}
    order = []
    while (job := queue.claim(lease=30)) is not None:
        order.append(job.id)
        queue.complete(job)
    assert order == [ids[name] for name in "ebdac"]


def test_a_job_that_came_due_keeps_its_place_by_id(queue, clock):
    first = queue.add("first", delay=10)
    second = queue.add("second")
    clock.advance(10)
    assert queue.claim(lease=30).id == first.id
    assert second.id > first.id


def test_two_folders_do_not_meet(tmp_path, clock):
    with Queue(str(tmp_path / "a" / "queue.db"), clock) as a, Queue(str(tmp_path / "b" / "queue.db"), clock) as b:
        a.add("only in a")
        assert b.claim(lease=30) is None
        assert a.claim(lease=30).command == "only in a"


def test_a_prober_may_know_better_than_the_lease(queue, clock):
    queue.add("make")
    queue.claim(lease=30)
    clock.advance(3600)
    assert queue.claim(lease=30, prober=lambda job: None) is None


def test_a_job_that_an_app_started_is_not_the_librarys_to_judge(queue, home):
    number = home.add("sleep 60")
    app = home.start()
    home.wait_for(number, "running")
    app.kill()
    eventually(lambda: not home.queue()["app"]["running"])
    with Queue(str(home.path / "queue.db")) as ours, pytest.raises(Refused, match="was started by an app"):
        ours.claim(lease=30)


def test_a_folder_whose_app_runs_is_refused(home):
    home.run("list")
    home.start()
    with Queue(str(home.path / "queue.db")) as ours, pytest.raises(Refused, match="app runs"):
        ours.claim(lease=30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": "  "}, "empty"),
        ({"command": "x", "priority": 20}, "priority 20"),
        ({"command": "x", "priority": -21}, "priority -21"),
        ({"command": "x", "max_attempts": 0}, "0 attempts"),
        ({"command": "x", "max_runtime": 0}, "max runtime"),
        ({"command": "x", "max_runtime": float("nan")}, "max runtime"),
        ({"command": "a\0b"}, "NUL"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_not_stored(queue, arguments, message):
    with pytest.raises(Exception, match=message):
        queue.add(**arguments)
    assert queue.claim(lease=30) is None


@pytest.mark.parametrize("lease", [0, -1.0, float("nan")])
def test_a_lease_that_is_over_at_once_is_refused_and_takes_or_gives_up_nothing(queue, lease):
    job = queue.add("true")
    with pytest.raises(Usage, match="over at once"):
        queue.claim(lease=lease)
    claimed = queue.claim(lease=30)
    assert (claimed.id, claimed.attempts) == (job.id, 1)
    with pytest.raises(Usage, match="over at once"):
        queue.heartbeat(claimed, lease=lease)
    assert queue.claim(lease=30) is None

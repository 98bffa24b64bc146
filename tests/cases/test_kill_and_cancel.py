"""A job is ended with all it started, at its limit and at a cancel, at any moment (cases 3, 18, 36)."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import command_line, eventually

from slothtray import Queue, actions, bell
from slothtray.errors import Refused
from slothtray.store import person

STUBBORN = r"""
sleep 411 & (trap "" TERM; sleep 412) & setsid sleep 413 &
sh -c 'sh -c "sleep 421 & (trap \"\" TERM; sleep 422) & setsid sleep 423 & wait" & wait' &
(setsid sh -c '(trap "" TERM; setsid sleep 432 & sleep 433) & sleep 431' &)
wait
"""
"""Case 3's job, once as it is, once three levels deep, once with its parents gone and in sessions of their own."""
SLEEPERS = [f"sleep {number}" for number in (411, 412, 413, 421, 422, 423, 431, 432, 433)]


def sleepers(home):
    """Which of the job's processes are alive."""
    return sorted(words for pid in home.processes() if (words := command_line(pid)).startswith("sleep "))


def test_case_03_a_limit_and_a_cancel_end_all_that_a_job_started(homes):
    timed, cancelled = homes(), homes()  # side by side, since each takes the whole grace
    for home in (timed, cancelled):
        home.path.mkdir(mode=0o700)
        (home.path / "config.toml").write_text('kill_grace = "2s"\n')
    ids = [timed.add("-t", "2s", STUBBORN), cancelled.add(STUBBORN)]
    for home in (timed, cancelled):
        home.start()
    for home in (timed, cancelled):
        eventually(lambda home=home: sleepers(home) == SLEEPERS, "the whole tree is there")
    following = [home.add("true") for home in (timed, cancelled)]
    cancelled.run("cancel", str(ids[1]))
    for home, number, follower, end in zip((timed, cancelled), ids, following, ("failed", "cancelled"), strict=True):
        assert home.wait_for(number, "done", "failed", "cancelled", limit=30) == end
        assert sleepers(home) == []
        assert home.wait_for(follower, "done") == "done"
        assert home.processes() == []
    assert timed.row(ids[0], "message") == "timed out after 2 s"
    assert cancelled.row(ids[1], "message").startswith("cancelled")


def test_case_03_what_ends_at_once_when_told_to_costs_no_grace(home):
    number = home.add("-t", "0.5s", 'trap "echo bye; exit 0" TERM; touch began; sleep 100 & wait')
    home.start()
    begin = time.monotonic()
    assert home.wait_for(number, "done", "failed", "cancelled") == "failed"
    assert time.monotonic() - begin < 8  # the grace is 10
    assert home.log(number) == "bye\n"
    assert home.row(number, "message") == "timed out"


def test_case_03_a_job_that_stops_its_own_supervisor_is_ended_by_a_cancel_all_the_same(home):
    number = home.add("kill -STOP $PPID; touch began; sleep 300")
    home.start()
    eventually((home.work / "began").exists, "the job has begun")
    home.run("cancel", str(number))
    assert home.wait_for(number, "done", "failed", "cancelled") == "cancelled"
    assert home.processes() == []


# --- case 18 -----------------------------------------------------------------------------------------------------------------

ONCE = """
exec 9>>lock; flock -n 9; [ $? != 1 ] || echo "$SLOTHTRAY_JOB" >> overlaps
echo "$SLOTHTRAY_JOB" >> starts
sleep 0.06 & setsid sleep 0.08 & sleep 0.1; wait
"""


def cancel_at_random(home, seed, count):
    """Queue, cancel at a random moment, look: the job's states and how many of them were cancelled."""
    moments = random.Random(seed)
    home.start()
    cancelled = 0
    for _ in range(count):
        number = home.enqueue(ONCE)
        time.sleep(moments.uniform(0, 0.2))
        try:
            actions.cancel(home.paths, number)
        except Refused:
            assert home.row(number) == "done"
        state = home.wait_for(number, "done", "cancelled", "failed", "held")
        assert state in ("done", "cancelled")
        assert home.processes() == [], "something of an ended job is alive"
        cancelled += state == "cancelled"
    assert home.wait_for(home.enqueue("true"), "done") == "done"
    for number in range(1, count + 1):
        kinds = home.kinds(number)
        final = home.row(number)
        assert kinds.count("claimed") <= 1, kinds
        assert kinds[-1] == final, kinds
        assert sum(kinds.count(kind) for kind in ("done", "cancelled", "failed", "held")) == 1, kinds
    assert home.wrote("overlaps") == ""
    starts = home.wrote("starts").split()
    assert len(starts) == len(set(starts))
    return cancelled


@pytest.mark.race
def test_case_18_after_a_cancel_at_any_moment_the_state_is_final_nothing_lives_and_the_next_job_starts(homes):
    folders = [homes() for _ in range(4)]
    with ThreadPoolExecutor(len(folders)) as pool:
        cancelled = list(pool.map(cancel_at_random, folders, range(1800, 1804), [25] * 4))
    assert sum(cancelled) >= 25, "too few of the cancels came before the end: not random moments"


# --- case 36 -----------------------------------------------------------------------------------------------------------------


def test_case_36_a_job_cancelled_before_it_started_never_runs(home):
    early = home.add("echo early >> ran")
    assert home.run("cancel", str(early)).stderr == ""
    assert home.row(early) == "cancelled"
    blocking = home.add("touch began; until [ -e go ]; do sleep 0.02; done")
    home.start()
    eventually((home.work / "began").exists, "the job before has begun")
    waiting = home.add("echo waiting >> ran")
    home.run("cancel", str(waiting))
    assert home.row(waiting) == "cancelled"
    (home.work / "go").touch()
    home.wait_for(blocking, "done")
    assert home.wait_for(home.add("true"), "done") == "done"
    assert home.wrote("ran") == ""
    assert [home.kinds(one) for one in (early, waiting)] == [["added", "cancelled"]] * 2


def test_case_36_a_job_cancelled_in_its_backoff_never_runs_again(home):
    number = home.add("--attempts", "3", "echo ran >> ran; exit 1")
    app = home.start()
    eventually(lambda: home.row(number, "failures") == 1 and home.row(number) == "pending", "it is in its backoff")
    due = home.row(number, "not_before")
    home.run("cancel", str(number))
    assert home.row(number) == "cancelled"
    eventually(lambda: time.time() > due, "it would have been due")
    assert home.wait_for(home.add("true"), "done") == "done"
    app.kill()
    home.start()
    assert home.wait_for(home.add("true"), "done") == "done"
    assert home.wrote("ran") == "ran\n"
    assert home.kinds(number) == ["added", "claimed", "retry", "cancelled"]


def test_case_36_a_running_job_can_be_cancelled_with_the_app_down(home):
    number = home.add("--attempts", "3", "echo ran >> ran; sleep 300")
    app = home.start()
    eventually(lambda: home.wrote("ran"), "it runs")
    app.kill()
    assert home.run("cancel", str(number)).stderr == ""
    eventually(lambda: not home.processes(), "job and supervisor have ended")
    home.start()
    assert home.wait_for(number, "cancelled", "pending", "failed", "done") == "cancelled"
    assert home.wait_for(home.add("true"), "done") == "done"
    assert home.wrote("ran") == "ran\n"


def test_case_36_a_cancel_wins_over_the_retry_of_a_run_that_failed_with_the_app_down(home):
    number = home.add("--attempts", "3", "echo ran >> ran; until [ -e go ]; do sleep 0.02; done; exit 5")
    app = home.start()
    eventually(lambda: home.wrote("ran"), "it runs")
    app.kill()
    (home.work / "go").touch()
    eventually(lambda: not home.processes(), "job and supervisor have ended")
    said = home.run("cancel", str(number))
    assert "will be cancelled when slothtray is started" in said.stderr
    home.start()
    assert home.wait_for(number, "cancelled", "pending", "failed", "done") == "cancelled"
    assert home.wait_for(home.add("true"), "done") == "done"
    assert home.wrote("ran") == "ran\n"


def test_case_36_a_cancel_that_was_stored_but_never_told_is_carried_out_by_the_app(home):
    number = home.enqueue("touch began; sleep 300")
    home.start()
    eventually((home.work / "began").exists, "the job has begun")
    with Queue(home.paths.database) as queue, queue.database.write():
        person.cancel(queue.database, number, time.time())  # and here the command is killed
    bell.ring(home.paths)
    assert home.wait_for(number, "cancelled", "failed", "done") == "cancelled"
    assert home.processes() == []


def test_case_36_a_cancel_of_what_is_over_is_refused_and_changes_nothing(home):
    number = home.add("true")
    home.start()
    home.wait_for(number, "done")
    said = home.run("cancel", str(number), code=1)
    assert f"job {number} is over already" in said.stderr
    assert home.kinds(number) == ["added", "claimed", "done"]

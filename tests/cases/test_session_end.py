"""The session or the machine ends: TERM to app, supervisor and job in any order, at any moment (case 33)."""

import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import pytest
from harness import eventually, identity

JOB = """
exec 9>>lock; flock -n 9; [ $? != 1 ] || echo "$SLOTHTRAY_JOB" >> overlaps
echo "$SLOTHTRAY_JOB" >> starts
sleep %.3f & wait $!
exit $?
"""
TOO_SLOW = 0.3
"""Seconds. A supervisor waits 0.5 s for a TERM of its own after its job has failed: a machine that needs longer to send three
signals has not ended a session, so that storm counts for nothing."""
NEVER = {"failed", "cancelled", "retry", "held"}


class Storm(NamedTuple):
    """What happened in one: the job, how long the signals took, and how it stood before the first of them."""

    job: int
    took: float
    begun: bool
    ended: bool


class Session:
    """One folder, and an app that is started anew after each storm."""

    def __init__(self, home, seed):
        self.home, self.moments = home, random.Random(seed)
        self.app = home.start()
        self.storms: list[Storm] = []

    def storm(self):
        """Queue a job, end the session at a random moment, start the next one and wait until the job is over."""
        home, moments = self.home, self.moments
        job = home.enqueue(JOB % moments.uniform(0.05, 0.4))
        if moments.random() < 0.5:  # at work for sure, else at any time since it was queued
            eventually(lambda: starts(home, job), "the job has begun")
        time.sleep(moments.uniform(0, 0.25))
        before = starts(home, job), home.row(job)
        victims = self.victims()
        moments.shuffle(victims)
        began = time.monotonic()
        for pid in victims:
            end(pid)
            time.sleep(moments.choice([0, 0, 0.001, 0.01, 0.04]))
        self.storms.append(Storm(job, time.monotonic() - began, before[0] > 0, before[1] == "done"))
        self.app.process.wait(10)
        self.app = home.start()
        home.wait_for(job, "done", "failed", "cancelled", "held")

    def victims(self):
        """All that a session manager would find: the app, its supervisor, the job and its children."""
        mine = os.getpid()
        return [self.app.process.pid, *(pid for pid in self.home.processes() if pid != mine and identity(pid))]


def end(pid):
    """TERM, unless one that was told before has taken it along."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def starts(home, job):
    return home.wrote("starts").split().count(str(job))


def endure(home, seed, count):
    """``count`` storms that were quick enough; what each was like."""
    session = Session(home, seed)
    while len([one for one in session.storms if one.took < TOO_SLOW]) < count:
        session.storm()
        assert len(session.storms) < 3 * count, "this machine is too slow for a storm"
    return [one for one in session.storms if one.took < TOO_SLOW]


def judge(home, storm):
    """Fail unless the job's history is one that a session's end may have."""
    kinds = home.kinds(storm.job)
    interruptions = kinds.count("reclaimed")
    assert home.row(storm.job) == "done", kinds
    assert not NEVER & set(kinds), kinds
    assert kinds.count("claimed") == 1 + interruptions + kinds.count("unstarted"), kinds
    assert home.row(storm.job, "interruptions") == interruptions
    assert home.row(storm.job, "failures") == 0
    assert 1 <= starts(home, storm.job) <= 1 + interruptions, kinds
    if storm.ended:
        assert (interruptions, kinds.count("unstarted")) == (0, 0), kinds
    if storm.begun:
        assert "unstarted" not in kinds or interruptions, kinds


@pytest.mark.race
@pytest.mark.timeout(150)
def test_case_33_a_session_that_ends_is_never_a_failure_nor_a_cancel_and_the_job_runs_again(homes):
    folders = [homes() for _ in range(8)]
    with ThreadPoolExecutor(len(folders)) as pool:
        all_storms = list(pool.map(endure, folders, range(3300, 3308), [13] * 8))
    for home, storms in zip(folders, all_storms, strict=True):
        for storm in storms:
            judge(home, storm)
        assert home.wrote("overlaps") == ""
    kinds = [kind for home, storms in zip(folders, all_storms, strict=True) for one in storms for kind in home.kinds(one.job)]
    assert kinds.count("reclaimed") >= 20, "too few storms found a job at work: not random moments"


@pytest.mark.parametrize("order", ["app, job, supervisor", "supervisor, app, job", "job, supervisor, app"])
def test_case_33_each_order_of_the_three_interrupts_the_job_and_the_next_session_runs_it_again(home, order):
    number = home.add('echo "$SLOTHTRAY_ATTEMPT" >> attempts; [ "$SLOTHTRAY_ATTEMPT" = 2 ] || sleep 300')
    app = home.start()
    eventually(lambda: home.wrote("attempts"), "it runs")
    job = [pid for pid in home.processes() if os.readlink(f"/proc/{pid}/cwd") == str(home.work)]
    supervisor = [pid for pid in home.processes() if pid not in job]
    groups = {"app": [app.process.pid], "job": job, "supervisor": supervisor}
    for name in order.split(", "):
        for pid in groups[name]:
            end(pid)
    app.process.wait(10)
    home.start()
    assert home.wait_for(number, "done", "failed", "cancelled", "held") == "done"
    assert home.wrote("attempts") == "1\n2\n"
    assert not NEVER & set(home.kinds(number))
    assert home.kinds(number).count("reclaimed") == 1


def test_case_33_an_app_that_was_started_with_nohup_outlives_its_terminal(home):
    app = home.start(prefix=["nohup"])
    assert home.wait_for(home.add("true"), "done") == "done"  # so it has its handlers
    app.process.send_signal(signal.SIGHUP)
    assert home.wait_for(home.add("true"), "done") == "done"
    assert app.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_case_33_an_app_that_is_told_to_end_ends_with_0_and_leaves_the_job_to_its_supervisor(home, number):
    job = home.add("touch began; until [ -e go ]; do sleep 0.02; done; exit 9")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    app.process.send_signal(number)
    assert app.process.wait(10) == 0
    (home.work / "go").touch()
    home.start()
    assert home.wait_for(job, "done", "failed", "cancelled", "pending") == "failed"
    assert home.row(job, "exit_code") == 9

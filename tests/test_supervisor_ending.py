"""The supervisor by itself: limits, cancels and the session's end, and the proof that nothing of the tree is left."""

import os
import signal
import time
from pathlib import Path

import pytest
from harness import command_line, eventually, identity
from supervised import PROGRAM, Supervised, handles

from slothtray import supervisor
from slothtray.system import records

# --- limits ----------------------------------------------------------------------------------------------------------------------

TREE = r"""
sleep 501 & (trap "" TERM; exec sleep 502) & setsid sleep 503 &
sh -c 'sh -c "sleep 511 & (trap \"\" TERM; exec sleep 512) & setsid sleep 513 & wait" & wait' &
(setsid sh -c '(trap "" TERM; exec sleep 532) & exec sleep 531' &)
sh -c 'kill -STOP $$' &
touch ready; wait
"""


def whole_tree(attempt):
    return len([pid for pid in attempt.alive() if command_line(pid).startswith("sleep 5")]) == 8


@pytest.mark.parametrize("way", ["limit", "cancel", "session end"])
def test_the_whole_tree_is_ended_stubborn_stopped_and_distant_ones_too(attempt, way):
    attempt.start(TREE, max_runtime=1.0 if way == "limit" else None)
    eventually(lambda: whole_tree(attempt), "the tree is there")
    if way != "limit":
        attempt.process.send_signal(signal.SIGUSR1 if way == "cancel" else signal.SIGTERM)
    ended = attempt.end()
    assert ended.why == {"limit": "timeout", "cancel": "cancel", "session end": "interrupted"}[way]
    assert attempt.alive() == []


@pytest.fixture
def without_list(tmp_path):
    """Makes attempts on a kernel without a list of a process's children, as far as their supervisors know."""
    source = PROGRAM.read_text()
    assert source.count("/children") == 2
    program = tmp_path / "supervisor.py"
    program.write_text(source.replace("/children", "/no-such-list"))
    made = []

    def make(name):
        (tmp_path / name).mkdir()
        made.append(Supervised(tmp_path / name, program))
        return made[-1]

    yield make
    for attempt in made:
        attempt.close()


def test_the_whole_tree_is_ended_on_a_kernel_that_does_not_list_children(without_list):
    attempt = without_list("tree").start(TREE)
    eventually(lambda: whole_tree(attempt), "the tree is there")
    attempt.process.send_signal(signal.SIGUSR1)
    assert attempt.end().why == "cancel"
    assert attempt.alive() == []


def test_what_a_job_leaves_is_counted_on_a_kernel_that_does_not_list_children(without_list):
    attempt = without_list("left").start("sleep 300 & setsid sleep 301 & exit 0")
    assert attempt.end().left == 2


def test_where_there_is_no_proc_the_table_comes_from_ps(monkeypatch):
    monkeypatch.setattr(supervisor.os.path, "exists", lambda path: False)
    table = dict(supervisor.parents())
    assert table[os.getpid()] == os.getppid()
    mine = [pid for pid, parent in table.items() if parent == os.getpid()]
    assert [pid for pid in mine if not Path(f"/proc/{pid}").is_dir()] == [], "it has counted ps itself"


def test_a_job_may_use_its_grace_to_end_well_and_still_counts_as_timed_out(attempt):
    attempt.start('trap "sleep 0.5; echo tidy; exit 0" TERM; touch ready; sleep 100 & wait', max_runtime=0.3, grace=20)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("timeout", 0)
    assert attempt.log() == "tidy\n"


def test_a_stopped_job_hears_its_end(attempt):
    attempt.start('trap "echo heard; exit 5" TERM; touch ready; kill -STOP $$; sleep 100', max_runtime=0.5, grace=20)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("timeout", 5)
    assert attempt.log() == "heard\n"


def test_a_freeze_of_all_does_not_count_towards_the_limit(attempt):
    attempt.start("touch ready; until [ -e go ]; do sleep 0.02; done; sleep 0.3", max_runtime=1.5)
    attempt.job_ready()
    group = [attempt.process.pid, attempt.record.process.pid]
    for pid in group:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2.8)  # more than the limit and what a late wake-up is allowed: the time itself is what is asked about
    (attempt.folder / "go").touch()
    for pid in group:
        os.kill(pid, signal.SIGCONT)
    assert attempt.end().why == "exit"


def test_without_a_limit_there_is_none(attempt):
    attempt.start("sleep 0.3; exit 0", max_runtime=None)
    assert attempt.end().why == "exit"


# --- signals ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_session_before_the_start_starts_nothing(attempt, number):
    eventually(lambda: handles(attempt.process.pid, signal.SIGCHLD), "it has its handlers")
    attempt.process.send_signal(number)
    attempt.send(attempt.spec("touch ran"))
    assert attempt.process.wait(20) == 1
    assert attempt.record == records.EMPTY
    assert not (attempt.folder / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_session_interrupts_the_job(attempt, number):
    attempt.start("touch ready; sleep 100")
    attempt.job_ready()
    attempt.process.send_signal(number)
    assert attempt.end().why == "interrupted"
    assert attempt.alive() == []


def test_a_job_that_was_told_to_end_just_before_its_supervisor_is_interrupted_not_failed(tmp_path):
    source, line = PROGRAM.read_text(), "TERM_WATCH = 0.5\n"
    assert source.count(line) == 1
    program = tmp_path / "supervisor.py"
    program.write_text(source.replace(line, "TERM_WATCH = 60.0\n"))  # for a test on a busy machine half a second is no time
    attempt = Supervised(tmp_path, program)
    try:
        attempt.start("touch ready; sleep 100 & wait; exit 1")
        attempt.job_ready()
        for pid in attempt.alive():
            os.kill(pid, signal.SIGTERM)
        eventually(lambda: not attempt.alive(), "the job has ended")
        assert attempt.record.result is None
        attempt.process.send_signal(signal.SIGTERM)
        assert attempt.end().why == "interrupted"
    finally:
        attempt.close()


def test_a_job_that_ended_well_before_the_session_did_is_done(attempt):
    attempt.start("touch ready; until [ -e go ]; do sleep 0.02; done")
    attempt.job_ready()
    os.kill(attempt.process.pid, signal.SIGSTOP)
    (attempt.folder / "go").touch()
    eventually(lambda: not attempt.alive(), "the job has ended")
    os.kill(attempt.process.pid, signal.SIGTERM)
    os.kill(attempt.process.pid, signal.SIGCONT)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("exit", 0)


def test_a_cancel_before_the_job_is_there_finds_it_when_it_is(attempt):
    eventually(lambda: handles(attempt.process.pid, signal.SIGCHLD), "it has its handlers")
    attempt.process.send_signal(signal.SIGUSR1)
    attempt.send(attempt.spec("sleep 100"))
    assert attempt.end().why == "cancel"
    assert attempt.alive() == []


def test_the_first_reason_to_end_is_the_one_that_counts(attempt):
    attempt.start('trap "touch told" TERM; touch ready; while :; do sleep 0.05; done', max_runtime=0.3, grace=1.0)
    attempt.job_ready("told")
    attempt.process.send_signal(signal.SIGUSR1)
    attempt.process.send_signal(signal.SIGTERM)
    assert attempt.end().why == "timeout"


def test_a_killed_supervisor_takes_its_job_along_and_leaves_no_result(attempt):
    attempt.start("touch ready; exec sleep 100")
    attempt.job_ready()
    attempt.process.kill()
    assert attempt.end() is None
    assert attempt.record.process is not None
    eventually(lambda: not attempt.alive(), "the job is dead too")


@pytest.mark.race
@pytest.mark.parametrize(
    ("command", "why", "code"), [("exit 0", "exit", 0), ("exit 3", "interrupted", 3), (["/nowhere/program"], "exec", None)]
)
def test_a_job_and_a_login_that_end_before_their_supervisor_first_looks_are_no_riddle_to_it(tmp_path, command, why, code):
    """A starved one looked for ever at a job that was gone, and not at the pipe which the job had left."""
    source, line = PROGRAM.read_text(), "    signal.pthread_sigmask(signal.SIG_SETMASK, before)\n"
    assert source.count(line) == 1
    program, go = tmp_path / "supervisor.py", tmp_path / "go"
    program.write_text(source.replace(line, f"    while not os.path.exists({str(go)!r}):\n        time.sleep(0.01)\n{line}"))
    attempt = Supervised(tmp_path, program)
    try:
        attempt.start(command)
        eventually(lambda: identity(attempt.record.process.pid) is None, "the job has ended")
        attempt.process.send_signal(signal.SIGTERM)
        go.touch()
        ended = attempt.end()
        assert (ended.why, ended.code) == (why, code)
    finally:
        attempt.close()

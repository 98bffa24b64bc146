"""The file: made once by whoever comes first, never lost to a lock, private, and its states never change but by the table."""

import itertools
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext

import pytest
from harness import PROGRAM, eventually

from slothtray import ManualClock, Queue, State
from slothtray.errors import DatabaseBusy, IllegalTransition, Refused, StorageError, UnknownJob
from slothtray.states import TRANSITIONS, check_transition
from slothtray.store import changes, claim, person
from slothtray.store.adding import NewJob


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def queue(tmp_path, clock):
    with Queue(str(tmp_path / "queue" / "queue.db"), clock=clock) as made:
        yield made


TOGETHER = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
"""What a program says, as one text."""


def new(command="true", **options):
    return NewJob(command, ("/bin/sh", "-c", command), cwd="/", env={}, **options)


def kinds(queue, number):
    return [event.kind for event in queue.events(number)]


def integrity(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


# --- made and used by several programs at once -----------------------------------------------------------------------------------

FIRST = """
import sys, time
from slothtray import Queue
while time.time() < float(sys.argv[2]): pass
with Queue(sys.argv[1]) as queue: print(queue.add("true").id)
"""


@pytest.mark.race
def test_programs_that_make_a_fresh_database_at_once_make_one(tmp_path):
    for attempt in range(3):
        path = tmp_path / f"queue-{attempt}" / "queue.db"
        at_once = str(time.time() + 0.4)
        programs = [subprocess.Popen([sys.executable, "-c", FIRST, str(path), at_once], **TOGETHER) for _ in range(4)]
        said = [program.communicate(timeout=30)[0] for program in programs]
        assert sorted(said) == ["1\n", "2\n", "3\n", "4\n"]
        assert integrity(path) == "ok"


def add_at_once(home, count):
    """So many `add` commands side by side on one folder: what each printed."""
    commands = [
        subprocess.Popen([*PROGRAM, "add", "-q", f"echo {number}"], env=home.environment, cwd=home.work, **TOGETHER)
        for number in range(count)
    ]
    return [command.communicate(timeout=60)[0] for command in commands]


@pytest.mark.race
def test_case_09_twenty_adds_at_once_on_a_fresh_folder_lose_none(home):
    said = add_at_once(home, 20)
    assert sorted(said, key=int) == [f"{number}\n" for number in range(1, 21)]
    with closing(home.read()) as connection:
        rows = connection.execute("SELECT command FROM jobs").fetchall()
    assert sorted(command for (command,) in rows) == sorted(f'"echo {number}"' for number in range(20))


@pytest.mark.race
def test_case_09_adds_wait_8_s_for_another_programs_lock_and_none_is_lost(home):
    home.run("list")
    with closing(home.read()) as foreign:
        foreign.isolation_level = None
        foreign.execute("BEGIN IMMEDIATE")
        said = []
        adding = threading.Thread(target=lambda: said.extend(add_at_once(home, 8)))
        adding.start()
        adding.join(8.0)
        assert said == []
        foreign.execute("COMMIT")
        adding.join()
    assert sorted(said) == [f"{number}\n" for number in range(1, 9)]


def test_an_add_that_cannot_have_the_lock_says_so_and_stores_nothing(tmp_path, clock):
    path = str(tmp_path / "queue.db")
    with Queue(path, clock) as ours, Queue(path, clock, patience=0.05) as theirs:
        with ours.database.write(), pytest.raises(DatabaseBusy, match=r"locked by another program: nothing was stored") as told:
            theirs.add("true")
        assert told.value.exit_code == 4
        assert theirs.add("true").id == 1


def test_an_app_lives_through_another_programs_lock_and_settles_its_job_after_it(home):
    number = home.add("touch began; until [ -e go ]; do sleep 0.02; done; exit 4")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    with closing(home.read()) as foreign:
        foreign.isolation_level = None
        foreign.execute("BEGIN IMMEDIATE")
        (home.work / "go").touch()
        eventually(lambda: not home.processes(), "job and supervisor have ended")
        assert app.process.poll() is None
        foreign.execute("COMMIT")
    assert home.wait_for(number, "failed", "done", "pending") == "failed"
    assert (home.row(number, "exit_code"), home.kinds(number)) == (4, ["added", "claimed", "failed"])


def test_an_app_that_starts_beside_another_programs_lock_waits_for_it(home):
    home.add("true")
    with closing(home.read()) as foreign:
        foreign.isolation_level = None
        foreign.execute("BEGIN EXCLUSIVE")
        app = home.start()
        assert app.process.poll() is None
        time.sleep(1.0)  # as long as a disk that is busy may make a commit last
        foreign.execute("COMMIT")
    assert home.wait_for(1, "done") == "done"
    assert app.process.poll() is None


def test_a_transaction_that_fails_leaves_nothing_behind_and_shows_its_own_error(queue):
    def half(then):
        with queue.database.write():
            changes.note(queue.database, None, 0.0, "half a thing")
            then()

    with pytest.raises(ZeroDivisionError):
        half(lambda: 1 / 0)
    with pytest.raises(StorageError, match="no such table: missing"):
        half(lambda: queue.database.execute("DELETE FROM missing"))
    assert queue.database.rows("SELECT * FROM events") == []
    assert queue.add("true").id == 1


def test_of_several_jobs_all_are_stored_or_none(queue):
    with pytest.raises(UnknownJob):
        queue.enqueue([new(), new(after=99), new()])
    assert queue.database.rows("SELECT * FROM jobs") == []


# --- the file --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_folder_and_file_are_the_owners_alone_under_any_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        Queue(str(tmp_path / "queue" / "queue.db")).close()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("queue", "queue/queue.db")]
    assert modes == [0o700, 0o600]


def newer(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def test_a_file_of_a_newer_version_is_refused_by_name_with_4_and_not_touched(home):
    home.add("true")
    with closing(home.read()) as connection:
        connection.execute("PRAGMA user_version = 99")
    content = (home.path / "queue.db").read_bytes()
    for words in (["add", "true"], ["list"], ["run"]):
        done = home.run(*words, code=4)
        assert f"{home.path}/queue.db was written by a newer slothtray" in done.stderr
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
    assert (home.path / "queue.db").read_bytes() == content


def test_a_file_that_is_no_database_is_refused_with_4_and_not_touched(home):
    home.path.mkdir()
    (home.path / "queue.db").write_bytes(b"garbage, and a lot of it\n" * 400)
    for words in (["add", "true"], ["list"]):
        done = home.run(*words, code=4)
        assert "damaged" in done.stderr
        assert done.stderr.count("\n") == 1
    assert (home.path / "queue.db").read_bytes() == b"garbage, and a lot of it\n" * 400


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"garbage, and a lot of it\n" * 400), newer], ids=["damaged", "newer"])
def test_a_file_that_is_refused_is_not_kept_open(tmp_path, spoil):
    path = tmp_path / "queue.db"
    spoil(path)
    with pytest.raises(StorageError) as kept:
        Queue(str(path))
    assert kept.value
    assert str(path) not in [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")]


def test_the_settings_that_keep_an_acknowledged_job_are_on(queue):
    assert queue.database.row("PRAGMA journal_mode")[0] == "truncate"
    assert queue.database.row("PRAGMA synchronous")[0] == 3  # EXTRA


@pytest.mark.parametrize("priority", [-21, 20])
def test_a_priority_out_of_range_is_refused_by_the_file_itself(queue, priority):
    with pytest.raises(StorageError, match="CHECK"), queue.database.write():
        queue.database.execute("INSERT INTO jobs (state, command, argv, cwd, umask, priority, created_at) VALUES ('held','','','',0,?,0)", (priority,))


def test_any_bytes_survive_in_command_folder_and_environment(queue):
    odd = os.fsdecode(b"caf\xc3\xa9 \xff\xfe \x01 'quoted' \"twice\" \\ \n\t")
    number = queue.enqueue([NewJob(odd, ("sh", odd), cwd="/" + odd, env={"ODD": odd})])[0]
    job = queue.get(number)
    assert (job.command, job.argv, job.cwd) == (odd, ("sh", odd), "/" + odd)


# --- states ----------------------------------------------------------------------------------------------------------------------

KINDS = sorted({kind for _, _, kind in TRANSITIONS})


def test_every_change_that_is_not_in_the_table_is_refused():
    every = set(itertools.product([None, *State], State, KINDS))
    refused = set()
    for change in every:
        try:
            check_transition(*change)
        except IllegalTransition:
            refused.add(change)
    assert refused == every - TRANSITIONS


def test_what_the_table_does_not_allow_changes_nothing_in_the_file(queue):
    job = queue.add("true")
    with pytest.raises(IllegalTransition), queue.database.write():
        changes.move(queue.database, job, State.DONE, "done", 0.0)
    assert queue.get(job.id) == job
    assert kinds(queue, job.id) == ["added"]


def test_a_change_by_one_who_saw_the_job_earlier_does_nothing(queue, clock):
    queue.add("true")
    job = queue.claim(lease=60)
    assert queue.complete(job)
    for change in (queue.complete, lambda one: queue.fail(one, "late"), lambda one: queue.heartbeat(one, lease=60)):
        assert not change(job)
    with queue.database.write():
        person.retry(queue.database, job.id, clock.wall())
    again = queue.claim(lease=60)
    assert again.run != job.run
    assert not queue.complete(job)
    assert queue.get(job.id).state is State.RUNNING
    assert kinds(queue, job.id) == ["added", "claimed", "done", "retried", "claimed"]


def test_what_a_person_may_do_depends_on_the_state(queue, clock):
    allowed = {
        "pending": {"cancel", "hold", "start"},
        "running": {"cancel"},
        "held": {"cancel", "release"},
        "done": {"retry"},
        "failed": {"retry"},
        "cancelled": {"retry"},
    }
    for state, verb in itertools.product(allowed, ("cancel", "hold", "start", "release", "retry")):
        number = queue.add("true").id
        with queue.database.write():
            queue.database.execute("UPDATE jobs SET state = ? WHERE id = ?", (state, number))
        expected = nullcontext() if verb in allowed[state] else pytest.raises(Refused, match=f"job {number} ")
        with expected, queue.database.write():
            getattr(person, verb)(queue.database, number, clock.wall())


def test_a_retry_is_a_new_beginning_under_the_same_id_with_the_old_history(queue, clock):
    job = queue.add("true", max_attempts=1)
    queue.fail(queue.claim(lease=60), "exit 2", exit_code=2)
    with queue.database.write():
        person.retry(queue.database, job.id, clock.wall())
    again = queue.get(job.id)
    assert (again.state, again.failures, again.finished_at, again.cancel_requested, again.seen) == (State.PENDING, 0, None, False, True)
    assert kinds(queue, job.id) == ["added", "claimed", "failed", "retried"]


# --- jobs that wait for others, and jobs that come too late ------------------------------------------------------------------------


def test_a_job_that_waits_for_another_starts_when_that_is_done(queue):
    first = queue.add("first").id
    second = queue.enqueue([new("second", after=first, priority=19)])[0]
    claimed = queue.claim(lease=60)
    assert claimed.id == first
    queue.complete(claimed)
    assert queue.claim(lease=60).id == second


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_what_waits_for_a_job_that_is_not_done_is_cancelled_with_that_reason_and_so_on_down_the_chain(queue, clock, end):
    first = queue.add("first", max_attempts=1).id
    second, held = queue.enqueue([new(after=first), new(after=first, hold=True)])
    third = queue.enqueue([new(after=second)])[0]
    other = queue.add("other").id
    if end == "failed":
        queue.fail(queue.claim(lease=60), "exit 1")
    else:
        with queue.database.write():
            person.cancel(queue.database, first, clock.wall())
    jobs = [queue.get(number) for number in (second, held, third)]
    assert [job.state for job in jobs] == [State.CANCELLED] * 3
    assert [job.reason for job in jobs] == [f"job {first} {end}", f"job {first} {end}", f"job {second} cancelled"]
    assert kinds(queue, third)[-1] == "dependency failed"
    assert queue.get(other).state is State.PENDING


def test_waiting_for_a_job_that_is_done_is_not_waiting(queue):
    first = queue.add("first").id
    queue.complete(queue.claim(lease=60))
    second = queue.enqueue([new(after=first)])[0]
    assert queue.claim(lease=60).id == second


def test_waiting_for_what_will_never_be_done_is_refused(queue):
    queue.add("first", max_attempts=1)
    queue.fail(queue.claim(lease=60), "exit 1")
    with pytest.raises(Refused, match="job 1 failed"):
        queue.enqueue([new(after=1)])
    with pytest.raises(UnknownJob, match="no job 7"):
        queue.enqueue([new(after=7)])


def test_a_job_that_was_not_started_in_time_is_cancelled_held_ones_too(queue, clock):
    soon, held, later = queue.enqueue(
        [new(expires_at=clock.wall() + 10), new(expires_at=clock.wall() + 10, hold=True), new(expires_at=clock.wall() + 100)]
    )
    clock.advance(10)
    assert queue.claim(lease=60).id == later
    for number in (soon, held):
        job = queue.get(number)
        assert (job.state, job.reason) == (State.CANCELLED, "expired")
        assert kinds(queue, number) == ["added", "expired"]
    clock.advance(1000)
    assert queue.get(later).state is State.RUNNING


def test_a_backoff_is_cut_to_its_length_after_the_clock_was_set_back(queue, clock):
    job = queue.add("true")
    queue.fail(queue.claim(lease=60), "exit 1")
    clock.step_wall(-86400)
    with queue.database.write():
        claim.clamp_backoff(queue.database, clock.wall())
    assert queue.get(job.id).not_before == clock.wall() + 2

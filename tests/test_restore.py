"""`slothtray restore`: what is listed, what is brought back and how, and a SIGKILL between any two of its steps."""

import errno
import json
import os
import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from harness import PROGRAM, eventually

import slothtray
from slothtray import actions
from slothtray.cli.main import main
from slothtray.clock import Clock
from slothtray.errors import DatabaseBusy
from slothtray.recovery import backup, files, restore
from slothtray.store import Queue
from slothtray.system import folder, records

POINTS = ("restore: ready", "restore: kept", "restore: journal kept", "restore: swapped")


def back_up(home):
    """What the app does once a day; the backup's name."""
    return os.path.basename(backup.make(home.paths, Clock()))


def bring(home, name):
    """`slothtray restore NAME` in this process: a test needs many."""
    assert main(["--home", str(home.path), "restore", name]) == 0


def states(home):
    with closing(home.read()) as connection:
        return dict(connection.execute("SELECT id, state FROM jobs ORDER BY id").fetchall())


def whole(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def end(home, number, *, well=True):
    """Let a worker of the library take the next job, which is this one, and bring it to its end."""
    with Queue(home.paths.database) as queue:
        job = queue.claim(lease=60)
        assert job.id == number
        assert queue.complete(job) if well else queue.fail(job, "exit 3", exit_code=3)


@pytest.fixture
def used(home):
    """A queue that was backed up with jobs 1 to 4, and has gone on since."""
    folder.prepare(home.paths)
    for command in ("true", "exit 3", "echo waits", "echo held"):
        home.enqueue(command, hold=command == "echo held", max_attempts=1)
    end(home, 1)
    end(home, 2, well=False)
    actions.pause(home.paths)
    home.back_up = back_up(home)
    actions.cancel(home.paths, 3)
    assert home.enqueue("echo later") == 5
    return home


# --- the list -----------------------------------------------------------------------------------------------------------------


def test_without_backups_it_says_that_there_are_none(home):
    home.enqueue("true")
    assert home.run("restore").stdout == "no backups yet: the app makes one a day, and keeps two\n"
    assert json.loads(home.run("restore", "--json").stdout) == {"version": 1, "backups": []}
    assert "there is no backup yet" in home.run("restore", "newest", code=1).stderr
    assert "there is no backup 'x'" in home.run("restore", "x", code=1).stderr


def test_the_list_tells_of_each_when_it_was_made_and_what_is_in_it(used):
    (one,) = json.loads(used.run("restore", "--json").stdout)["backups"]
    assert list(one) == ["name", "path", "kind", "made_at", "size", "jobs", "unfinished"]
    assert (one["name"], one["kind"], one["jobs"], one["unfinished"]) == (used.back_up, "backup", 4, 2)
    assert one["size"] == os.stat(one["path"]).st_size
    head, row = used.run("restore").stdout.splitlines()
    assert head.split() == ["NAME", "MADE", "SIZE", "JOBS"]
    assert re.fullmatch(rf"{used.back_up}  \d{{4}}-\d\d-\d\d \d\d:\d\d  \S+ \S+  4, 2 unfinished", row)


def test_the_list_can_be_had_while_an_app_runs_and_with_a_damaged_database(used):
    used.start()
    assert used.back_up in used.run("restore").stdout
    used.apps[-1].kill()
    Path(used.paths.database).write_bytes(b"garbage" * 1000)
    assert used.back_up in used.run("restore").stdout


# --- bringing one back ----------------------------------------------------------------------------------------------------------


def test_what_was_unfinished_is_held_with_the_reason_and_nothing_starts_by_itself(used):
    done = used.run("restore", "newest")
    assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}
    assert used.row(3, "reason").startswith("restored from the backup of 20")
    assert used.row(4, "reason") == "held by you"
    assert done.stdout.splitlines()[0].endswith("jobs 3-4 held: `slothtray release 3-4` queues what is still wanted")
    used.run("resume")
    used.start("--until-empty").wait()
    assert states(used)[3] == "held"
    used.run("release", "3")
    used.start("--until-empty").wait()
    assert used.log(3) == "waits\n"


def test_an_id_is_never_given_again(used):
    Path(used.paths.log(40)).write_text("of a job that no database knows any more")
    bring(used, "newest")
    assert used.enqueue("true") == 41


def test_ids_of_the_replaced_database_count_as_given_though_they_left_no_file(used):
    bring(used, used.back_up)
    assert used.enqueue("true") == 6


def test_it_says_which_jobs_are_only_in_what_was_replaced_and_can_go_back_to_that(used):
    done = used.run("restore", "newest")
    assert "not in the backup, only there: job 5" in done.stdout
    (aside,) = files.asides(used.paths)
    assert f"`slothtray restore {aside.name}` goes back to it" in done.stdout
    assert aside.kind == "replaced"
    assert used.enqueue("echo in between") == 6
    bring(used, aside.name)
    assert states(used) == {1: "done", 2: "failed", 3: "cancelled", 4: "held", 5: "held"}
    assert used.enqueue("true") == 7
    assert len(files.asides(used.paths)) == 2


def test_what_restore_did_is_there_for_programs_too(used):
    told = json.loads(used.run("restore", "newest", "--json").stdout)
    assert list(told["restored"]) == ["name", "made_at", "held", "running", "replaced", "missing", "strangers"]
    restored = told["restored"]
    assert (restored["name"], restored["held"], restored["missing"]) == (used.back_up, [3, 4], [5])
    assert (used.path / restored["replaced"]).exists()


def test_a_file_from_elsewhere_can_be_restored_by_its_path(used, tmp_path):
    copy = tmp_path / "copy of mine.db"
    copy.write_bytes((Path(used.paths.backups) / used.back_up).read_bytes())
    bring(used, str(copy))
    assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}


def test_not_while_an_app_runs(used):
    before = Path(used.paths.database).read_bytes()
    app = used.start()
    done = used.run("restore", "newest", code=3)
    assert f"(pid {app.process.pid}): quit it first" in done.stderr
    app.kill()
    assert states(used)[5] == "pending"
    assert before[:16] == Path(used.paths.database).read_bytes()[:16]


def test_a_backup_that_is_damaged_or_none_changes_nothing(used):
    before = Path(used.paths.database).read_bytes()
    for content in (b"garbage" * 1000, b"", Path(used.paths.backups, used.back_up).read_bytes()[:8000]):
        (used.path / "bad.db").write_bytes(content)
        done = used.run("restore", str(used.path / "bad.db"), code=4)
        assert "bad.db" in done.stderr
    assert Path(used.paths.database).read_bytes() == before
    assert files.asides(used.paths) == []
    assert not (used.path / "queue.db.new").exists()


def test_a_job_that_is_at_work_during_a_restore_goes_on_and_is_adopted(home):
    home.enqueue("touch began; while [ ! -e go ]; do sleep 0.02; done; exit 7")
    home.enqueue("echo waits")
    name = back_up(home)
    app = home.start()
    eventually((home.work / "began").exists, "the job runs")
    app.kill()
    done = home.run("restore", name)
    assert "job 1 goes on running, job 2 held" in done.stdout
    home.start()
    eventually(lambda: "adopted" in home.kinds(1), "it is adopted")
    (home.work / "go").touch()
    home.wait_for(1, "failed")
    assert (home.row(1, "exit_code"), home.row(1, "attempts"), home.row(2)) == (7, 1, "held")


def test_a_job_that_has_run_since_the_backup_says_so_before_it_is_released(home):
    home.enqueue("exit 4")
    name = back_up(home)
    home.start("--until-empty").wait()
    bring(home, name)
    assert home.row(1) == "held"
    assert home.row(1, "reason").endswith("; since then: exit 4")


def test_a_cancel_that_was_asked_for_is_not_forgotten(home):
    home.enqueue("echo no")
    with closing(home.read()) as connection, connection:
        connection.execute("UPDATE jobs SET state = 'running', cancel_requested = 1, run = '1-00000000'")
    bring(home, back_up(home))
    assert states(home) == {1: "cancelled"}


def test_a_writer_that_waited_for_the_old_database_is_told_and_stores_nothing_there(used):
    with Queue(used.paths.database) as queue:
        bring(used, "newest")
        with pytest.raises(DatabaseBusy, match="was just replaced by a backup: nothing was stored"):
            queue.add("echo lost")
    (aside,) = files.asides(used.paths)
    with Queue(aside.path) as queue:
        assert queue.get(6) is None


def test_nobody_adds_a_job_to_what_is_about_to_be_set_aside(used, monkeypatch):
    refused = []

    def add(point):
        with Queue(used.paths.database, patience=0.0) as queue, pytest.raises(DatabaseBusy):
            queue.add("echo lost")
        refused.append(point)

    monkeypatch.setattr(restore, "crash_point", lambda point: add(point) if point != "restore: swapped" else None)
    restore.bring_back(used.paths, files.named(used.paths, "newest"), Clock())
    assert refused == ["restore: ready", "restore: kept"]
    assert os.stat(used.paths.database).st_mode & 0o777 == 0o600


def test_where_a_file_can_have_no_second_name_it_works_too(used, monkeypatch):
    def link(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    restored = restore.bring_back(used.paths, files.named(used.paths, "newest"), Clock())
    assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}
    assert whole(used.path / restored.kept)


def test_a_run_that_goes_on_of_a_job_that_the_backup_does_not_know_is_told(home):
    folder.prepare(home.paths)
    home.enqueue("true")
    name = back_up(home)
    record = records.create(home.paths.run_record("2-0123abcd"))
    try:
        done = home.run("restore", name)
    finally:
        os.close(record)
    assert "job 2 still runs though it is over or unknown there, job 1 held" in done.stdout
    assert home.enqueue("true") == 3


@pytest.mark.parametrize("words", [["wait", "5"], ["log", "-f", "5"]])
def test_who_goes_on_looking_at_the_queue_ends_with_a_reason(used, words):
    looking = subprocess.Popen([*PROGRAM, *words], env=used.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "paused" in looking.stderr.readline() or words[0] == "log"
    bring(used, "newest")
    assert "was replaced by a backup meanwhile" in looking.communicate(timeout=20)[1]
    assert looking.returncode == 4


def test_a_stale_journal_is_set_aside_with_its_database_and_never_rolled_back_into_the_new_one(used):
    journal = make_hot_journal(used.paths.database)
    with open(used.paths.database, "r+b") as file:
        file.truncate(0)
    Path(f"{used.paths.database}-journal").write_bytes(journal)
    done = used.run("restore", "newest")
    (aside,) = files.asides(used.paths)
    assert aside.kind == "damaged"
    assert f"the damaged database is kept as {aside.name}" in done.stdout
    assert Path(f"{aside.path}-journal").read_bytes() == journal
    assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}
    assert whole(used.paths.database)


def make_hot_journal(path):
    """The journal of a transaction on all rows that has reached the disk and was never committed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=TRUNCATE")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("PRAGMA cache_spill=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE jobs SET command = printf('%10000s', '')")
        journal = Path(f"{path}-journal").read_bytes()
        connection.execute("ROLLBACK")
    assert len(journal) > 512
    return journal


# --- a death between two steps ----------------------------------------------------------------------------------------------------


def restore_that_dies(home, point):
    environment = {**home.environment, "SLOTHTRAY_CRASH": point}
    done = subprocess.run([*PROGRAM, "restore", "newest"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("damage", ["", "damaged"])
@pytest.mark.parametrize("point", POINTS)
def test_after_a_death_at_any_step_the_queue_is_the_old_or_the_restored_one_and_a_second_try_works(used, point, damage):
    before, database = states(used), Path(used.paths.database)
    if damage:
        journal = make_hot_journal(database)
        database.write_bytes(b"")
        Path(f"{database}-journal").write_bytes(journal)
    died = restore_that_dies(used, point)
    assert died == (bool(damage) or point != "restore: journal kept")
    if point == "restore: swapped" or not died:
        assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}
    elif not damage:
        assert states(used) == before
        assert used.enqueue("echo between") == 6
    lock = folder.FolderLock(used.paths)  # nobody holds it: what died has left nothing that lasts
    lock.release()
    bring(used, "newest")
    assert states(used) == {1: "done", 2: "failed", 3: "held", 4: "held"}
    assert whole(database)
    assert os.stat(database).st_nlink == 1
    assert used.enqueue("true") == (7 if not damage and died and point != "restore: swapped" else 6 if not damage else 5)
    first = files.asides(used.paths)[-1]
    assert first.kind == (damage or "replaced")
    if damage:
        assert Path(first.path).read_bytes() == b""
        assert Path(f"{first.path}-journal").read_bytes() == journal
    assert not (used.path / "queue.db.new").exists()


def test_each_crash_point_of_a_restore_is_tried():
    source = Path(slothtray.__file__).parent / "recovery" / "restore.py"
    assert set(re.findall(r'crash_point\("([^"]+)"\)', source.read_text())) == set(POINTS)

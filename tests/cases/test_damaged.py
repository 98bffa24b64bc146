"""Case 13: a database that can't be used is set aside or refused, and the person is told; never an empty queue in silence."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import eventually
from test_restore import back_up, end, make_hot_journal, states, whole

from slothtray import bell
from slothtray.config import Watched, defaults
from slothtray.recovery import files
from slothtray.runner import Loop, LoopThread, Tell
from slothtray.store import Queue, schema
from slothtray.system import folder
from slothtray.system.sleep import Silence

LINE = "restored, jobs 2-3 held: `slothtray release 2-3` queues what is still wanted"


@pytest.fixture
def used(home):
    """A queue whose backup has a job that is over and two that wait; another one was added since."""
    folder.prepare(home.paths)
    home.enqueue("true")
    end(home, 1)
    home.enqueue("echo two")
    home.enqueue("echo three")
    home.back_up = back_up(home)
    home.enqueue("echo four")
    return home


def garbage_over_the_first_page(path):
    with path.open("r+b") as file:
        file.write(os.urandom(4096))


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def cut_in_its_first_page(path):
    os.truncate(path, 1000)


def emptied(path):
    os.truncate(path, 0)


def gone(path):
    path.unlink()


def text(path):
    path.write_text("not a database at all\n" * 100)


def without_the_queues_row(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM queue")


DAMAGES = [garbage_over_the_first_page, truncated, cut_in_its_first_page, emptied, gone, text, without_the_queues_row]


@pytest.mark.parametrize("damage", DAMAGES)
def test_case_13_an_app_sets_it_aside_restores_the_newest_backup_with_its_jobs_held_and_says_so(used, damage):
    damage(database := Path(used.paths.database))
    content = database.read_bytes() if database.exists() else b""
    app = used.start()
    eventually(lambda: LINE in app.said(), "the terminal tells")
    assert states(used) == {1: "done", 2: "held", 3: "held"}
    assert whole(database)
    assert LINE in Path(used.paths.app_log).read_text()
    eventually(lambda: LINE in used.run("list").stdout, "the list tells")
    kept = files.asides(used.paths)
    assert [Path(one.path).read_bytes() for one in kept] == [content] or damage is without_the_queues_row
    assert {one.kind for one in kept} <= {"damaged", "replaced"}
    assert used.enqueue("true") > 3  # whether 4 was given is known where the damaged one can be read, or where it left a file
    used.wait_for(4 if used.row(4) else 5, "done")


@pytest.mark.parametrize("damage", [garbage_over_the_first_page, truncated, emptied, text])
def test_case_13_a_command_says_so_in_one_line_and_changes_nothing(used, damage):
    damage(database := Path(used.paths.database))
    content = database.read_bytes()
    for words in (["list"], ["add", "true"]):
        done = used.run(*words, code=4)
        assert done.stderr.count("\n") == 1
        assert "slothtray restore" in done.stderr
        assert ("damaged" in done.stderr) or ("is empty or gone, though there is backups/" in done.stderr)
    assert database.read_bytes() == content
    assert files.asides(used.paths) == []
    assert '"code": "damaged"' in used.run("list", "--json", code=4).stdout


def test_a_stale_journal_goes_with_the_damaged_database(used):
    database = Path(used.paths.database)
    journal = make_hot_journal(database)
    emptied(database)
    Path(f"{database}-journal").write_bytes(journal)
    app = used.start()
    eventually(lambda: LINE in app.said(), "the terminal tells")
    assert states(used) == {1: "done", 2: "held", 3: "held"}
    assert whole(database)
    (aside,) = files.asides(used.paths)
    assert Path(f"{aside.path}-journal").read_bytes() == journal


def test_an_older_copy_put_in_place_by_hand_gives_no_id_again_that_has_a_log(used):
    used.start("--until-empty").wait()
    assert used.log(4) == "four\n"
    shutil.copy(Path(used.paths.backups, used.back_up), used.paths.database)
    used.start()
    assert used.enqueue("echo five") == 5
    used.wait_for(5, "done")
    assert used.log(4) == "four\n"


def test_the_newest_backup_that_is_whole_is_taken(used):
    newer = Path(used.paths.backups, back_up(used))
    assert newer.name > used.back_up
    truncated(newer)
    text(Path(used.paths.database))
    app = used.start()
    eventually(lambda: LINE in app.said(), "the terminal tells")
    assert states(used) == {1: "done", 2: "held", 3: "held"}


def test_case_13_without_a_backup_a_new_queue_begins_and_says_so_and_gives_no_id_again(home):
    home.enqueue("true")
    home.enqueue("true")
    home.start("--until-empty").wait()
    database = Path(home.paths.database)
    truncated(database)
    assert "is damaged" in home.run("add", "true", code=4).stderr
    app = home.start()
    eventually(lambda: "there was no backup: a new, empty queue has begun" in app.said(), "it is told")
    assert "a new, empty queue has begun" in home.run("list").stdout
    assert home.enqueue("true") == 3
    assert [one.kind for one in files.asides(home.paths)] == ["damaged"]


def test_a_database_that_vanished_is_not_made_anew_by_a_command_while_its_runs_are_there(home):
    home.enqueue("true")
    home.start("--until-empty").wait()
    Path(home.paths.database).unlink()
    assert "is empty or gone, though there is runs/1-" in home.run("add", "true", code=4).stderr


def test_the_tray_notifies(used):
    text(Path(used.paths.database))
    notices = []
    settings = Watched(used.paths.config, defaults(1.0))
    loop = LoopThread(lambda: Loop(used.paths, settings, Tell(notice=notices.append), Silence()))
    loop.start()
    loop.stop()
    loop.join(20)
    assert (notices[0].title, notices[0].urgent) == ("The queue's database was damaged", True)
    assert LINE in notices[0].body


def test_a_database_of_another_program_is_refused_and_left_alone(home):
    home.path.mkdir(mode=0o700)
    with closing(sqlite3.connect(home.paths.database)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    content = Path(home.paths.database).read_bytes()
    for words in (["list"], ["run"]):
        assert "is no queue of slothtray: move it away" in home.run(*words, code=4).stderr
    assert Path(home.paths.database).read_bytes() == content


def test_case_13_a_newer_database_is_refused_by_name_with_the_program_that_is_needed_and_not_written_to(used):
    with closing(used.read()) as connection, connection:
        connection.execute("INSERT INTO migrations (version, at, program) VALUES (7, 0, '0.9.2')")
        connection.execute("PRAGMA user_version = 7")
    content = Path(used.paths.database).read_bytes()
    for words in (["list"], ["add", "true"], ["run"]):
        done = used.run(*words, code=4)
        assert f"{used.paths.database} was written by slothtray 0.9.2 (schema 7;" in done.stderr
        assert "install slothtray 0.9.2 or newer" in done.stderr
    assert '"code": "newer"' in used.run("list", "--json", code=4).stdout
    assert Path(used.paths.database).read_bytes() == content
    used.run("restore", "newest")  # the way back to this program
    assert states(used) == {1: "done", 2: "held", 3: "held"}


def test_damage_that_is_met_in_the_middle_of_work_is_said_with_what_to_do_and_no_loop_runs_hot(home):
    """The root page of the index that tells which job is next becomes garbage under a running app."""
    home.start()
    home.wait_for(home.enqueue("true"), "done")
    home.add("--hold", "true")
    with closing(home.read()) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jobs_ready'").fetchone()
        connection.execute("UPDATE queue SET remark = 'let the app read anew'")
        connection.commit()
    with Path(home.paths.database).open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    done = home.run("release", "2", code=4)
    assert "is damaged" in done.stderr
    with closing(home.read()) as connection:
        connection.execute("UPDATE queue SET remark = 'and again'")
        connection.commit()
    app = home.apps[0]
    bell.ring(home.paths)
    eventually(lambda: "`slothtray restore` lists the backups" in app.said(), "it is told")
    looks = Path(home.paths.app_log).read_text().count("is damaged")
    time.sleep(2.5)  # the time is what is asked about
    assert Path(home.paths.app_log).read_text().count("is damaged") - looks <= 3
    assert app.said().count("is damaged") == 1  # and a minute later again
    assert app.process.poll() is None
    assert app.stop() == 0


MAKING = """
import os, sys
from slothtray.store import Queue
from slothtray.store.connection import Database
path = sys.argv[1]
write = Database.write
def slowly(database):
    print("making", flush=True)
    return Slow(write(database))
class Slow:
    def __init__(self, real):
        self.real = real
    def __enter__(self):
        return self.real.__enter__()
    def __exit__(self, *error):
        if os.stat(path).st_size == 0:
            print(os.stat(path + "-journal").st_size, flush=True)
            sys.stdin.readline()
        return self.real.__exit__(*error)
Database.write = slowly
print(Queue(path).add("echo first").id, flush=True)
"""


@pytest.mark.race
def test_the_first_command_of_all_is_not_disturbed_by_an_app_that_starts_while_it_makes_the_database(home):
    home.path.mkdir(mode=0o700)
    command = [sys.executable, "-c", MAKING, str(home.paths.database)]
    with subprocess.Popen(command, env=home.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "making\n"
        assert int(first.stdout.readline()) > 0  # an empty database with a journal, as a damaged one may be
        app = home.start(ready=False)
        eventually(lambda: home.paths.lock and os.path.exists(home.paths.lock), "the app is there")
        time.sleep(1)  # longer than it would wait for a file that nobody has locked
        print(file=first.stdin, flush=True)
        assert "1\n" in first.communicate()[0]
    home.wait_for(1, "done")
    assert "damaged" not in app.said()
    assert not files.asides(home.paths)


@pytest.mark.race
def test_a_database_that_another_made_between_two_looks_at_it_is_a_new_one_still(home, monkeypatch):
    """Who has seen no schema looks at the tables next, and at what lies about: by then the first command may have made it."""
    home.path.mkdir(mode=0o700)
    looks = []

    def version_of(database, real=schema.version_of):
        looks.append(real(database))
        if len(looks) == 1:
            assert home.add("echo first") == 1
            home.start("--until-empty").wait()
        return looks[-1]

    monkeypatch.setattr(schema, "version_of", version_of)
    queue = Queue(home.paths.database)
    assert looks[:2] == [0, 1]
    assert queue.get(1).state == "done"
    queue.close()

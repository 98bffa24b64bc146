"""Databases of every release are brought up to date and worked on; migrations are whole, after a backup, or not at all."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import slothtray
from slothtray.clock import Clock, ManualClock
from slothtray.errors import StorageError
from slothtray.recovery import backup, files, opening, restore
from slothtray.store import Queue, schema
from slothtray.store.connection import Database
from slothtray.system import folder

ROOT = Path(__file__).resolve().parent.parent
RELEASED = sorted((ROOT / "tests" / "data").glob("*.db"))
SECOND = "ALTER TABLE jobs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';\nCREATE INDEX jobs_mood ON jobs (mood);\n"


def with_release(home, path):
    """Put a release's database into a folder."""
    folder.prepare(home.paths)
    shutil.copy(path, home.paths.database)
    (home.path / "config.toml").write_text('prune_after = "never"\n')  # its jobs ended when that was released


def version(home):
    with closing(home.read()) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def table(path, name="jobs"):
    """All rows of a table without the columns that release 0.1.0 doesn't have."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [{key: row[key] for key in row.keys() if key != "mood"} for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1")]  # noqa: SIM118


# --- what earlier releases have left -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_the_database_of_a_release_is_brought_up_to_date_and_worked_on(home, path):
    with_release(home, path)
    before = version(home)
    assert home.run("list").stdout.splitlines()[2].split()[:5] == ["8", "running", "19", "echo", "eight;"]
    app = home.start("--until-empty")
    assert app.wait() == 0, app.said()
    with closing(home.read()) as connection:
        states = dict(connection.execute("SELECT id, state FROM jobs").fetchall())
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert states == {
        1: "done", 2: "failed", 3: "cancelled", 4: "done", 5: "held", 6: "pending", 7: "pending", 8: "done", 9: "done",
    }
    assert version(home) == schema.LATEST
    assert [one.kind for one in files.backups(home.paths)] == ["upgrade"] * (before < schema.LATEST)
    assert home.log(8).splitlines()[-2:] == ["eight", "ü"]
    assert "reclaimed" in home.kinds(8)
    home.run("release", "5")
    assert home.start("--until-empty").wait() == 0
    assert home.row(7) == "done"
    assert home.add("true") == 10


def test_every_release_has_its_database_here():
    assert f"{slothtray.__version__}.db" in {path.name for path in RELEASED}


def test_a_released_schema_is_never_changed_afterwards(tmp_path):
    """A change to a migration that is in use already would make two kinds of databases of one version."""
    with Queue(str(tmp_path / "queue.db")):
        pass
    every = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    newest = RELEASED[-1]
    with closing(sqlite3.connect(newest)) as released, closing(sqlite3.connect(tmp_path / "queue.db")) as present:
        assert released.execute("PRAGMA user_version").fetchone()[0] <= schema.LATEST
        if released.execute("PRAGMA user_version").fetchone()[0] == schema.LATEST:
            assert present.execute(every).fetchall() == released.execute(every).fetchall()


def test_the_latest_schema_is_that_of_the_last_migration():
    assert sorted(os.listdir(schema.FOLDER)) == [f"{number:04d}.sql" for number in range(1, schema.LATEST + 1)]


# --- migrations, made up ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def with_migrations(tmp_path, monkeypatch):
    """Makes further migrations known to this process."""
    made = tmp_path / "migrations"
    shutil.copytree(schema.FOLDER, made)

    def add(*scripts):
        for number, script in enumerate(scripts, 2):
            (made / f"{number:04d}.sql").write_text(script)
        monkeypatch.setattr(schema, "FOLDER", str(made))
        monkeypatch.setattr(schema, "LATEST", 1 + len(scripts))
        monkeypatch.setattr(slothtray, "__version__", "0.2.0")

    return add


@pytest.fixture
def old(home):
    """A folder with the database of the first schema."""
    with_release(home, RELEASED[0])
    return home


def test_a_migration_is_made_with_its_record_after_a_backup(old, with_migrations):
    before = table(old.paths.database)
    with_migrations(SECOND)
    assert opening.make_usable(old.paths, ManualClock()) == ""
    assert version(old) == 2
    assert table(old.paths.database) == before
    assert [(row["version"], row["program"]) for row in table(old.paths.database, "migrations")] == [(1, "0.1.0"), (2, "0.2.0")]
    (made,) = files.backups(old.paths)
    assert (made.kind, made.name) == ("upgrade", "queue-0001-2023-11-14-schema1.db")
    assert table(made.path) == before
    opening.make_usable(old.paths, ManualClock())
    assert len(files.backups(old.paths)) == 1


def test_a_migration_that_fails_leaves_the_file_as_it_was_and_those_before_it_done(old, with_migrations):
    with_migrations(SECOND, "CREATE TABLE third (a);\nCREATE TABLE jobs (a);\n")
    with pytest.raises(StorageError, match="table jobs already exists"):
        opening.make_usable(old.paths, ManualClock())
    assert version(old) == 2
    assert [row["version"] for row in table(old.paths.database, "migrations")] == [1, 2]
    with closing(old.read()) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'third'").fetchone()


def test_without_a_backup_there_is_no_migration(old, with_migrations):
    os.rmdir(old.paths.backups)
    Path(old.paths.backups).touch()
    with_migrations(SECOND)
    with pytest.raises(StorageError, match="no backup can be made in"):
        opening.make_usable(old.paths, ManualClock())
    assert version(old) == 1


def test_the_backup_made_before_a_migration_outlives_the_daily_ones(old, with_migrations):
    with_migrations(SECOND)
    clock = ManualClock()
    opening.make_usable(old.paths, clock)
    for _ in range(4):
        clock.advance(backup.DAY)
        backup.make(old.paths, clock)
    assert [one.number for one in files.backups(old.paths)] == [5, 4, 1]


def test_commands_work_with_the_schema_before_and_ask_for_the_app_two_back(old, with_migrations):
    with_migrations(SECOND)
    with Queue(old.paths.database) as queue:
        assert queue.add("true").id == 10
    assert version(old) == 1
    with_migrations(SECOND, "CREATE TABLE third (a);\n")
    with pytest.raises(StorageError, match=r"older slothtray \(schema 1; this one needs 2\): start slothtray"):
        Queue(old.paths.database)


def test_an_older_backup_is_brought_up_to_date_as_it_is_restored(old, with_migrations):
    backup.make(old.paths, Clock())
    with_migrations(SECOND)
    opening.make_usable(old.paths, Clock())
    source = files.backups(old.paths)[-1]
    assert source.kind == "backup"
    restored = restore.bring_back(old.paths, source, Clock())
    assert restored.held == [4, 5, 6, 7, 8, 9]
    assert version(old) == 2
    with closing(Database(source.path)) as kept:
        assert schema.version_of(kept) == 1

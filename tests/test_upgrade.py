"""Upgrades: databases of every release are brought up to date, newer ones refused, and a program replaced under a running app."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from harness import Home, eventually

import slothtray
from slothtray import bell
from slothtray.clock import Clock, ManualClock
from slothtray.errors import StorageError
from slothtray.recovery import backup, files, opening, restore
from slothtray.store import Queue, schema
from slothtray.store.connection import Database
from slothtray.system import folder, installed

ROOT = Path(__file__).resolve().parent.parent
RELEASED = sorted((ROOT / "tests" / "data").glob("*.db"))
SECOND = "ALTER TABLE jobs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';\nCREATE INDEX jobs_mood ON jobs (mood);\n"


def with_release(home, path):
    """Put a release's database into a folder."""
    folder.prepare(home.paths)
    shutil.copy(path, home.paths.database)


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


def test_what_is_installed_is_read_only_when_it_has_changed_and_only_another_version_is_told(tmp_path, monkeypatch):
    file = tmp_path / "__init__.py"
    look = installed.Installed("0.1.0", str(file))
    assert look.newer() == ""  # gone, as it is for a moment while pip replaces it
    for content, newer in (('__version__ = "0.1.0"\n', ""), ("half of i", ""), ('"""x"""\n__version__ = "0.2.0"\n', "0.2.0")):
        file.write_text(content)
        assert look.newer() == newer
    monkeypatch.setattr(look, "_read", None)
    assert look.newer() == "0.2.0"


# --- another program, really installed ----------------------------------------------------------------------------------------------


class Program:
    """A copy of the package, as pip would have put it somewhere."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "slothtray"
        shutil.copytree(Path(slothtray.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "assets", self.package / "_assets")
        self.environment = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def change(self, path, old, new):
        """Replace a text in one of its files, as pip does: by another file."""
        file = self.package / path
        content = file.read_text()
        assert old in content
        fresh = file.with_suffix(".fresh")
        fresh.write_text(content.replace(old, new))
        fresh.rename(file)

    def becomes(self, number):
        self.change("__init__.py", f'__version__ = "{slothtray.__version__}"', f'__version__ = "{number}"')


@pytest.fixture
def program(tmp_path):
    """A program in a folder of its own, which looks after itself at each look."""
    made = Program(tmp_path / "site")
    made.change("runner/upkeep.py", "MINUTE = 50.0", "MINUTE = 0.0")
    return made


def test_an_upgrade_by_real_programs_and_the_way_back(home, program):
    home.add("echo one")
    program.becomes("0.2.0")
    program.change("store/schema.py", "LATEST = 1\n", "LATEST = 2\n")
    (program.package / "store/migrations/0002.sql").write_text(SECOND)
    newer = Home(home.path)
    newer.environment.update(program.environment)
    assert newer.add("echo two") == 2
    assert version(home) == 1  # commands leave it as it is
    assert newer.start("--until-empty").wait() == 0
    newer.apps.clear()
    assert version(home) == 2
    assert "was written by slothtray 0.2.0 (schema 2;" in home.run("list", code=4).stderr
    (made,) = [one for one in files.backups(home.paths) if one.kind == "upgrade"]
    home.run("restore", made.name)
    assert home.row(1, "reason").endswith("; since then: ok")
    assert version(home) == 1


def test_a_program_that_is_replaced_under_its_app_finishes_the_job_goes_on_and_says_restart(home, program):
    job = home.enqueue("touch began; while [ ! -e go ]; do sleep 0.02; done; exit 7")
    app = home.start(environment=program.environment)
    eventually((home.work / "began").exists, "the job runs")
    program.becomes("0.3.0")
    for module in program.package.rglob("*.py"):
        if module != program.package / "__init__.py":
            module.write_text("raise SystemExit('two versions are mixed')\n")
    (home.work / "go").touch()
    home.wait_for(job, "failed")
    assert (home.row(job, "exit_code"), home.row(job, "attempts")) == (7, 1)
    again = home.add("echo again")
    home.wait_for(again, "done")
    words = "Note: slothtray 0.3.0 is installed: restart the app to use 0.3.0"
    eventually(lambda: bell.ring(home.paths) and words in home.run("list").stdout, "the list tells")
    retried = home.enqueue("exit 1", max_attempts=2)
    home.run("pause")
    home.run("resume")
    home.wait_for(retried, "failed")
    assert app.stop() == 0
    assert "mixed" not in app.said() + Path(home.paths.app_log).read_text()


DRIVER = """
import sys, threading
from functools import partial
from slothtray import __main__, __version__
from slothtray.cli.commands import app
from slothtray.tray import menu
from slothtray.tray.app import run_app

class Hand:
    def __call__(self, click, about_to_show):
        self.click, self.over, self.clicked = click, threading.Event(), False
        return self
    def run(self):
        print("up", __version__, flush=True)
        self.over.wait()
    def show(self, snapshot, notes):
        for entry in menu.build(snapshot, notes):
            if entry.key == "restart" and not self.clicked:
                self.clicked = True
                print("entry", entry.label, flush=True)
                self.click(entry.label, entry.do)
    def stop(self):
        self.over.set()

app.run_app = partial(run_app, make_shell=Hand())
sys.exit(__main__.main())
"""


def test_the_menus_restart_starts_what_is_installed_in_the_same_process_and_the_running_job_is_adopted(home, program, tmp_path):
    job = home.enqueue("touch began; while [ ! -e go ]; do sleep 0.02; done; exit 7")
    (tmp_path / "driver.py").write_text(DRIVER)
    (home.path / "config.toml").write_text('ceiling = "off"\ncooldown = 0\n')
    output = tmp_path / "said"
    with output.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "driver.py"), "--home", str(home.path)],
            env={**home.environment, **program.environment}, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
        )  # fmt: skip
    try:
        eventually((home.work / "began").exists, "the job runs")
        program.becomes("0.3.0")
        eventually(lambda: bell.ring(home.paths) and "up 0.3.0" in output.read_text(), "it is the new one")
        said = [line for line in output.read_text().splitlines() if line.startswith(("up", "entry"))]
        assert said == ["up 0.1.0", "entry Restart to use 0.3.0", "up 0.3.0"]
        eventually(lambda: folder.holder_of(home.paths) == process.pid, "it holds the folder under the same pid")
        eventually(lambda: "adopted" in home.kinds(job), "the job is adopted")
        supervisors = children(process.pid)
        (home.work / "go").touch()
        home.wait_for(job, "failed")
        assert (home.row(job, "exit_code"), home.row(job, "attempts")) == (7, 1)
        eventually(lambda: not set(supervisors) & set(children(process.pid)), "no zombie of its supervisor is left")
        assert supervisors
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def children(pid):
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and (words := stat_of(name)) and words.rpartition(")")[2].split()[1] == str(pid)
    ]


def stat_of(name):
    try:
        return Path(f"/proc/{name}/stat").read_text(errors="replace")
    except OSError:
        return ""


# --- wheels -------------------------------------------------------------------------------------------------------------------------


def wheel_of(source, target):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", target], cwd=source, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def previous_tree(target):
    """The tree of the commit before this one, where git knows of one; else this tree."""
    target.mkdir()
    made = subprocess.run(["git", "archive", "HEAD~1", "slothtray", "assets", "pyproject.toml", "README.md", "LICENSE"], cwd=ROOT, capture_output=True, check=False)
    if made.returncode == 0:
        subprocess.run(["tar", "-x"], cwd=target, input=made.stdout, check=True)
    else:
        copy_tree(target)
    return target


def copy_tree(target):
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("slothtray", "assets"):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)


@pytest.fixture
def wheels(tmp_path):
    """The previous commit's wheel, and this tree's under a higher version."""
    tree = tmp_path / "tree"
    tree.mkdir()
    copy_tree(tree)
    init = tree / "slothtray" / "__init__.py"
    init.write_text(init.read_text().replace(slothtray.__version__, "99.0"))
    return wheel_of(previous_tree(tmp_path / "previous"), tmp_path / "old"), wheel_of(tree, tmp_path / "new")


def test_a_job_that_runs_through_an_upgrade_from_the_previous_commits_wheel_ends_with_its_true_exit_code(home, wheels, tmp_path):
    older, newer = wheels
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    # What we need is there already; the checkout that is installed beside it is not found by this.
    (site / "needs.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "--no-deps", "--no-index", "--no-compile", "--quiet"]
    subprocess.run([*pip, older], check=True)
    home.environment["PATH"] = f"{venv / 'bin'}:{home.environment['PATH']}"
    python = str(venv / "bin" / "python")
    first, second = (home.enqueue(f"touch began{code}; while [ ! -e go{code} ]; do sleep 0.02; done; exit {code}") for code in (7, 8))
    app = home.start(python=python)
    eventually((home.work / "began7").exists, "the job runs")
    subprocess.run([*pip, "--force-reinstall", newer], check=True)
    assert subprocess.run([python, "-m", "slothtray", "--version"], capture_output=True, text=True, check=True, cwd="/").stdout == "slothtray 99.0\n"
    (home.work / "go7").touch()
    home.wait_for(first, "failed")  # written by the old app, which was replaced on the disk
    eventually((home.work / "began8").exists, "the next one runs")
    app.kill()
    home.start(python=python)
    eventually(lambda: "adopted" in home.kinds(second), "the new app adopts it")
    (home.work / "go8").touch()
    home.wait_for(second, "failed")
    assert [home.row(number, "exit_code") for number in (first, second)] == [7, 8]
    assert [home.row(number, "attempts") for number in (first, second)] == [1, 1]

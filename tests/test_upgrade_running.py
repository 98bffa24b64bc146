"""A program that is replaced under its running app: the job and the app go on, and what is installed then takes the app's place."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import Home, eventually
from test_upgrade import ROOT, SECOND, version

import slothtray
from slothtray import bell
from slothtray.recovery import files
from slothtray.system import folder, installed


def test_what_is_installed_is_read_only_when_it_has_changed_and_only_another_version_is_told(tmp_path, monkeypatch):
    file = tmp_path / "__init__.py"
    look = installed.Installed("0.1.0", str(file))
    assert look.newer() == ""  # gone, as it is for a moment while pip replaces it
    for content, newer in (('__version__ = "0.1.0"\n', ""), ("half of i", ""), ('"""x"""\n__version__ = "0.2.0"\n', "0.2.0")):
        file.write_text(content)
        assert look.newer() == newer
    monkeypatch.setattr(look, "_read", None)
    assert look.newer() == "0.2.0"


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
    def __call__(self, click, about_to_show, on_sight):
        self.click, self.over, self.clicked = click, threading.Event(), False
        return self
    def run(self, on_icon):
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

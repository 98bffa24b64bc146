"""The supervisor's program is missing or broken, or changes under a running app (case 35)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import eventually

import slothtray
from slothtray import supervisor
from slothtray.runner import spec

ENDS = ("done", "failed", "cancelled", "held")


class Installation:
    """A copy of slothtray that may be damaged, run by a Python that may be removed."""

    def __init__(self, folder, home):
        self.home = home
        shutil.copytree(Path(slothtray.__file__).parent, folder / "slothtray", ignore=shutil.ignore_patterns("__pycache__"))
        self.supervisor = folder / "slothtray" / "supervisor.py"
        self.python = sys.executable
        self.environment = {
            **home.environment,
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        where = [self.python, "-c", "import slothtray; print(slothtray.__file__)"]
        found = subprocess.run(where, env=self.environment, cwd="/", capture_output=True, text=True, check=True).stdout
        assert found == f"{folder}/slothtray/__init__.py\n"

    def start(self):
        """Start its app."""
        return self.home.start(environment=self.environment, python=self.python)

    def start_and_lose_python(self):
        """Start its app with a Python of its own, and remove that."""
        self.python = str(self.supervisor.with_name("python"))
        self.environment["PYTHONHOME"] = sys.base_prefix
        shutil.copy(os.path.realpath(sys.executable), self.python)
        self.start()
        os.unlink(self.python)


@pytest.fixture
def installations(tmp_path, homes):
    """Makes copies of slothtray."""
    made = []

    def make():
        made.append(Installation(tmp_path / f"installation-{len(made)}", homes()))
        return made[-1]

    return make


def claims(home, number):
    """At what times the job was claimed."""
    with home.read() as connection:
        rows = connection.execute("SELECT at FROM events WHERE job = ? AND kind = 'claimed' ORDER BY id", (number,)).fetchall()
    connection.close()
    return [at for (at,) in rows]


def test_case_35_a_supervisor_that_cannot_run_is_tried_after_2_and_4_s_then_the_job_is_held_with_its_error(installations):
    broken = {name: installations() for name in ("missing", "garbage", "failing", "no python")}  # side by side: it takes 6 s
    broken["missing"].supervisor.unlink()
    broken["garbage"].supervisor.write_text("def half an upgr")
    broken["failing"].supervisor.write_text("raise RuntimeError('half an upgrade')\n")
    for name, installation in broken.items():
        (installation.start_and_lose_python if name == "no python" else installation.start)()
    ids = {name: [installation.home.add("echo ran >> ran") for _ in "ab"] for name, installation in broken.items()}
    words = {
        "missing": "supervisor.py: [Errno 2] No such file or directory",
        "garbage": "supervisor.py: ",
        "failing": "RuntimeError: half an upgrade",
        "no python": "can't be started: [Errno 2] No such file or directory",
    }
    for name, installation in broken.items():
        home = installation.home
        for number in ids[name]:
            assert home.wait_for(number, *ENDS) == "held"
            assert home.kinds(number) == ["added", *["claimed", "unstarted"] * 2, "claimed", "held"]
            first, second, third = claims(home, number)
            assert second - first >= 2
            assert third - second >= 4
            assert home.row(number, "reason").startswith("could not be started 3 times: ")
            assert words[name] in home.row(number, "reason")
            assert home.row(number, "attempts") == 0
            assert words[name] in home.run("list", env={**home.environment, "COLUMNS": "500"}).stdout
        assert home.wrote("ran") == ""
        assert home.processes() == []


def test_case_35_a_job_that_could_not_be_started_runs_once_the_installation_is_mended(installations):
    installation = installations()
    home, whole = installation.home, installation.supervisor.read_bytes()
    installation.supervisor.write_text("raise RuntimeError('half an upgrade')\n")
    app = installation.start()
    number = home.add("echo ran >> ran")
    eventually(lambda: "unstarted" in home.kinds(number), "it could not be started")
    installation.supervisor.write_bytes(whole)
    app.stop()
    installation.start()
    assert home.wait_for(number, *ENDS) == "done"
    assert home.wrote("ran") == "ran\n"
    assert (home.row(number, "attempts"), home.row(number, "unstarted")) == (1, 0)


@pytest.mark.parametrize("change", ["removed", "replaced", "written over"])
def test_case_35_an_upgrade_does_not_mix_its_supervisor_with_an_app_that_runs(installations, change):
    installation = installations()
    home, program = installation.home, installation.supervisor
    installation.start()
    assert home.wait_for(home.add("true"), *ENDS) == "done"
    if change == "removed":
        program.unlink()
    else:
        fresh = program if change == "written over" else program.with_name("fresh.py")
        fresh.write_text("import sys\nsys.exit('of another version')\n")
        fresh.replace(program)
    number = home.add("echo ran >> ran")
    assert home.wait_for(number, *ENDS) == "done"
    assert home.kinds(number) == ["added", "claimed", "done"]
    assert home.wrote("ran") == "ran\n"


def test_case_35_app_and_supervisor_speak_of_the_same_version():
    assert spec.VERSION == supervisor.SPEC_VERSION


@pytest.mark.parametrize("change", ["removed", "upgraded"])
def test_an_app_whose_whole_program_goes_while_a_job_runs_works_the_queue_to_its_end(installations, change):
    installation = installations()
    home, package = installation.home, installation.supervisor.parent
    number = home.add("touch began; until [ -e go ]; do sleep 0.02; done; exit 7")
    app = installation.start()
    eventually((home.work / "began").exists, "the job has begun")
    shutil.rmtree(package)
    if change == "upgraded":  # to one that is nothing like this one
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('of another version')\n")
    (home.work / "go").touch()
    assert home.wait_for(number, *ENDS) == "failed"
    assert (home.row(number, "exit_code"), home.kinds(number)) == (7, ["added", "claimed", "failed"])
    again = home.add("--attempts", "2", "[ $SLOTHTRAY_ATTEMPT = 2 ]")
    assert home.wait_for(again, *ENDS) == "done"
    long = home.add("touch long; sleep 60")
    eventually((home.work / "long").exists, "the long one has begun")
    home.run("cancel", str(long))
    assert home.wait_for(long, *ENDS) == "cancelled"
    home.run("pause")
    home.run("resume")
    assert home.wait_for(home.add("/nowhere/program"), *ENDS) == "failed"
    assert home.wait_for(home.add("true"), *ENDS) == "done"
    assert home.queue()["state"] == "idle"
    assert "Traceback" not in app.said()
    assert "the runner failed" not in app.said()
    assert app.stop() == 0


def test_a_command_of_half_an_installation_says_so_in_a_line(installations):
    installation = installations()
    home = installation.home
    (installation.supervisor.parent / "store" / "pruning.py").unlink()
    done = home.run("prune", "--older", "1d", env=installation.environment, cwd="/", code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("slothtray: cannot import name 'pruning' from 'slothtray.store' ")
    assert "a part of slothtray is gone: if it was upgraded" in done.stderr
    assert done.stderr.count("\n") == 1
    assert home.run("list", env=installation.environment, cwd="/").stderr == ""

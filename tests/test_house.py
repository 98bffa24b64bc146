"""packaging/dev.py, without the network and without touching the machine."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

BACKEND = '''
"""Builds an installable stand-in for slothtray and the checkers, so that pip needs no network."""
import os
import zipfile

MAIN = """
import json, os, sys

def main():
    name = os.path.basename(sys.argv[0])
    with open(os.environ["RECORD"], "a") as file:
        file.write(json.dumps([os.getpid(), name, *sys.argv[1:]]) + "\\\\n")
    return int(os.environ.get("EXIT_" + name, 0))
"""
COMMANDS = ("slothtray", "ruff", "mypy", "lint-imports", "pytest")

def build_editable(folder, config_settings=None, metadata_directory=None):
    if os.environ.get("BACKEND_FAILS"):
        raise SystemExit("this backend is out of order")
    info = "tiny-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, "tiny-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("stand_in.py", MAIN)
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\nProvides-Extra: test\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        scripts = "".join(f"{name} = stand_in:main\\n" for name in COMMANDS)
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\n" + scripts)
        wheel.writestr(info + "RECORD", "")
    return "tiny-1-py3-none-any.whl"
'''


class Checkout:
    """A copy of the house's scripts in a folder of its own, and what the programs it starts have been told."""

    def __init__(self, root: Path):
        self.root = root
        self.venv = root / ".venv"
        self.stamp = self.venv / "slothtray-stamp"
        self.record = root / "record"
        (root / "packaging").mkdir(parents=True)
        for name in ("dev.py", "machine.py"):
            shutil.copy(ROOT / "packaging" / name, root / "packaging")
        shutil.copy(ROOT / "pyproject.toml", root)

    def dev(self, *words, python=sys.executable, **environment):
        """Runs ``packaging/dev.py``; the output is in ``stdout`` and ``stderr``, its process in ``pid``."""
        return self._run([python, str(self.root / "packaging" / "dev.py"), *words], environment)

    def within(self, code, **environment):
        """Runs Python that has ``dev`` and ``machine`` at hand."""
        code = "import os, sys, dev, machine\n" + code
        return self._run([sys.executable, "-c", code], {"PYTHONPATH": str(self.root / "packaging"), **environment})

    def _run(self, argv, environment):
        self.record.unlink(missing_ok=True)
        mine = {**os.environ, "PIP_NO_INDEX": "1", "RECORD": str(self.record), **environment}
        if "DISPLAY" not in environment:
            mine.pop("DISPLAY", None)
            mine.pop("WAYLAND_DISPLAY", None)
        process = subprocess.Popen(
            argv, cwd=self.root, env=mine, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout_text, process.stderr_text = process.communicate(timeout=50)
        return process

    def started(self):
        """What was started, as lists of words: ``["slothtray", "add", "-q", "echo hello"]``."""
        return [words for _, *words in self._records()]

    def last_pid(self):
        return self._records()[-1][0]

    def _records(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []


@pytest.fixture
def checkout(tmp_path):
    """The scripts alone, with nothing made yet."""
    return Checkout(tmp_path / "checkout")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A checkout of a project that pip can install by itself. Every test brings about the state it needs."""
    tiny = Checkout(tmp_path_factory.mktemp("tiny") / "checkout")
    (tiny.root / "backend.py").write_text(BACKEND)
    (tiny.root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "tiny"\nversion = "1"\n[project.optional-dependencies]\ntest = []\n'
    )
    return tiny


def one_line(process, code):
    """The one line that a person gets, after looking that it is the only one and no traceback."""
    assert process.returncode == code, process.stderr_text
    assert process.stdout_text == ""
    (line,) = process.stderr_text.splitlines()
    assert line.startswith("dev.py: ")
    return line


def programs(folder, **scripts):
    """A folder of shell scripts to stand first on PATH; `_` in a name is `-`."""
    folder.mkdir()
    for name, text in scripts.items():
        path = folder / name.replace("_", "-")
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
    return str(folder)


# --- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "no command"), (["frobnicate"], "frobnicate"), (["run", "--frobnicate", "echo hello"], "--frobnicate"),
        (["package", "--frobnicate"], "--frobnicate"), (["generate", "frobnicate"], "frobnicate"),
    ],
)
def test_what_dev_does_not_know_is_named_in_one_line_that_points_to_the_help(checkout, words, named):
    line = one_line(checkout.dev(*words), 2)
    assert named in line
    assert "--help" in line
    assert not checkout.venv.exists()


def test_help_shows_every_command_and_makes_nothing(checkout):
    helped = checkout.dev("--help")
    assert helped.returncode == 0
    assert {"run", "test"} <= set(re.findall(r"^  (\w+) \[", helped.stdout_text, re.MULTILINE))
    assert not checkout.venv.exists()


def test_the_readme_names_only_commands_that_exist_and_ci_runs_its_test_command(checkout):
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"packaging/dev\.py (\w+)", readme))
    assert {"run", "test"} <= named
    known = checkout.within("print(*dev.COMMANDS)").stdout_text.split()
    assert named <= set(known)
    assert (ROOT / ".ci" / "run").read_text().endswith("exec python3 packaging/dev.py test\n")


# --- which Python -----------------------------------------------------------------------------------------------------


def test_an_older_python_is_told_in_one_line_which_one_is_needed(checkout):
    dev = str(checkout.root / "packaging" / "dev.py")
    older = f"import runpy, sys; sys.version_info = (3, 9, 18); runpy.run_path({dev!r}, run_name='__main__')"
    assert "python3.11" in one_line(checkout.within(older), 1)


def test_an_older_python_can_read_dev_far_enough_to_say_so():
    ast.parse((ROOT / "packaging" / "dev.py").read_text(), feature_version=(3, 7))


@pytest.fixture
def without_ensurepip(tmp_path):
    """A home for Python that has its whole standard library but ensurepip: what Debian installs without python3-venv."""
    library = Path(os.__file__).parent
    home = tmp_path / "home"
    bare = home / library.relative_to(sys.base_prefix)
    bare.mkdir(parents=True)
    for entry in library.iterdir():
        if entry.name != "ensurepip":
            (bare / entry.name).symlink_to(entry)
    return str(home)


def test_without_ensurepip_the_missing_debian_package_is_named_with_its_command(checkout, without_ensurepip, tmp_path):
    path = programs(tmp_path / "bin", apt_get="exit 1")
    made = checkout.dev("run", "echo hello", python=sys._base_executable, PYTHONHOME=without_ensurepip, PATH=path)
    assert one_line(made, 1) == "dev.py: python3-venv is missing: sudo apt install python3-venv"
    assert not checkout.venv.exists()


def test_without_ensurepip_and_apt_no_apt_command_is_proposed(checkout, without_ensurepip, tmp_path):
    path = programs(tmp_path / "bin")
    made = checkout.dev("run", python=sys._base_executable, PYTHONHOME=without_ensurepip, PATH=path)
    line = one_line(made, 1)
    assert "python3-venv" in line
    assert "apt" not in line


def test_an_environment_that_came_out_without_pip_names_the_package_too(checkout):
    made = checkout.within("machine.quietly = lambda argv: None\nsys.exit(dev.main(['run']))")
    assert made.returncode == 1
    assert "python3-venv is missing" in made.stderr_text.splitlines()[-1]


# --- environments -----------------------------------------------------------------------------------------------------


def test_a_half_made_environment_is_made_anew(tiny):
    tiny.stamp.unlink(missing_ok=True)
    (tiny.venv / "bin").mkdir(parents=True, exist_ok=True)
    (tiny.venv / "bin" / "python").unlink(missing_ok=True)
    (tiny.venv / "bin" / "python").symlink_to(tiny.root / "gone")
    (tiny.venv / "leftover").touch()
    made = tiny.dev("run", "echo hello")
    assert made.returncode == 0, made.stderr_text
    assert tiny.started() == [["slothtray", "add", "-q", "echo hello"], ["slothtray", "run"]]
    assert tiny.stamp.exists()
    assert not (tiny.venv / "leftover").exists()


def test_an_environment_that_is_whole_is_used_as_it_is(tiny):
    tiny.dev("run")
    pip = tiny.venv / "bin" / "pip"
    before = tiny.stamp.stat().st_mtime_ns, pip.stat().st_ctime_ns
    again = tiny.dev("run", "echo hello")
    assert again.returncode == 0
    assert len(tiny.started()) == 2
    assert "making" not in again.stderr_text
    assert "installing" not in again.stderr_text
    assert (tiny.stamp.stat().st_mtime_ns, pip.stat().st_ctime_ns) == before


def test_a_changed_pyproject_is_installed_into_the_environment_that_is_there(tiny):
    tiny.dev("run")
    before = tiny.stamp.read_text()
    (tiny.venv / "kept").touch()
    with (tiny.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    changed = tiny.dev("run")
    assert "installing" in changed.stderr_text
    assert (tiny.venv / "kept").exists()
    assert tiny.stamp.read_text() != before
    assert "installing" not in tiny.dev("run").stderr_text


def test_another_extra_is_installed_once_and_serves_without_it_too(tiny):
    tiny.dev("run")
    ensure = "dev.Venv('.venv', dev.base_python(), extra='test').ensure()"
    assert "installing" in tiny.within(ensure).stderr_text
    assert "installing" not in tiny.within(ensure).stderr_text
    assert "installing" not in tiny.dev("run").stderr_text


# --- run --------------------------------------------------------------------------------------------------------------


def test_without_a_desktop_run_says_so_once_and_becomes_the_plain_runner(tiny):
    tiny.dev("run")
    ran = tiny.dev("run", "echo one", "echo two")
    *queued, where, said = ran.stderr_text.splitlines()
    assert queued == [f"dev.py: queueing 'echo {word}'; its id:" for word in ("one", "two")]
    assert where.endswith("slothtray list` shows the queue")
    assert "no desktop" in said
    assert tiny.started() == [["slothtray", "add", "-q", "echo one"], ["slothtray", "add", "-q", "echo two"], ["slothtray", "run"]]
    assert tiny.last_pid() == ran.pid, "a process of ours stays between the terminal and slothtray"


@pytest.mark.parametrize("variable", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_with_a_desktop_run_becomes_the_tray_app(tiny, variable):
    ran = tiny.dev("run", "echo one", **{"DISPLAY": "", variable: ":7"})
    assert "no desktop" not in ran.stderr_text
    assert tiny.started()[-1] == ["slothtray"]


def test_until_empty_is_passed_on_to_the_plain_runner_also_on_a_desktop(tiny):
    tiny.dev("run", "--until-empty", "echo one", DISPLAY=":7")
    assert tiny.started() == [["slothtray", "add", "-q", "echo one"], ["slothtray", "run", "--until-empty"]]


def test_a_job_that_cannot_be_queued_ends_run_with_its_exit_code(tiny):
    assert tiny.dev("run", "echo one", "echo two", EXIT_slothtray="4").returncode == 4
    assert tiny.started() == [["slothtray", "add", "-q", "echo one"]]


def test_the_first_command_of_the_readme_runs_a_job_to_its_end(tmp_path):
    calm = tmp_path / "loadavg"
    calm.write_text("0.00 0.00 0.00 1/100 1\n")
    environment = {**os.environ, "SLOTHTRAY_HOME": str(tmp_path / "home"), "SLOTHTRAY_LOADAVG": str(calm)}
    ran = subprocess.run(
        [sys.executable, ROOT / "packaging" / "dev.py", "run", "--until-empty", "echo hello"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50, check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "hello" in (tmp_path / "home" / "logs" / "1.log").read_text()


# --- test -------------------------------------------------------------------------------------------------------------

IN_PARALLEL = ["-n", str(2 * os.cpu_count()), "--dist", "loadfile"]
CHECKS = "sys.exit(dev.in_order(dev.checks(dev.Venv('.venv', dev.base_python()), ['-k', 'policy'])))"


def test_all_checks_run_in_order_and_pytest_gets_the_arguments(tiny):
    tiny.dev("run")
    ran = tiny.within(CHECKS)
    assert ran.returncode == 0
    assert tiny.started() == [["ruff", "check"], ["mypy"], ["lint-imports", "--no-logo"], ["pytest", *IN_PARALLEL, "-k", "policy"]]
    assert re.fullmatch(
        r"dev\.py: ruff [\d.]+ s, mypy [\d.]+ s, lint-imports [\d.]+ s, pytest [\d.]+ s", ran.stderr_text.splitlines()[-1]
    )


def test_the_first_check_that_fails_ends_the_test_with_its_exit_code(tiny):
    tiny.dev("run")
    ran = tiny.within(CHECKS, EXIT_mypy="3")
    assert ran.returncode == 3
    assert tiny.started() == [["ruff", "check"], ["mypy"]]
    assert "mypy failed" in ran.stderr_text


# The last one that uses `tiny`: it leaves an environment that would have to be made anew.
def test_a_failed_installation_is_one_line_and_leaves_nothing_that_is_trusted(tiny):
    tiny.dev("run")
    with (tiny.root / "pyproject.toml").open("a") as file:
        file.write("# changed again\n")
    failed = tiny.dev("run", BACKEND_FAILS="1")
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr_text
    announced, line = failed.stderr_text.splitlines()
    assert "installing" in announced
    assert "out of order" in line
    assert "pip install" in line
    assert not tiny.stamp.exists()


# --- Debian packages --------------------------------------------------------------------------------------------------

AS_ROOT = "os.geteuid = lambda: 0\nsys.exit(dev.main(['packages']))"
AS_ANYONE = "os.geteuid = lambda: 1000\nsys.exit(dev.main(['packages']))"
ONLY_PACKAGES = "dev.COMMANDS['packages'] = (lambda _: dev.ensure_debian_packages(), '', '')\n"


@pytest.fixture
def debian(checkout, tmp_path):
    """A machine whose package tools say what the test wants: ``installed`` maps packages to dpkg's status."""

    def ask(code, installed, apt_get="exit 0"):
        answer = "".join(f"echo '{package} {status}'\n" for package, status in installed.items())
        path = programs(tmp_path / "bin", dpkg_query=answer, apt_get=f'echo "$@" >> "{tmp_path}/apt"\n' + apt_get)
        asked = checkout.within(ONLY_PACKAGES + code, PATH=path)
        log = tmp_path / "apt"
        return asked, [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    return ask


@pytest.fixture
def all_installed(checkout):
    return dict.fromkeys(checkout.within("print(*machine.DEBIAN_PACKAGES)").stdout_text.split(), "installed")


def test_packages_that_are_all_there_are_not_asked_for(debian, all_installed):
    asked, apt = debian(AS_ROOT, all_installed)
    assert (asked.returncode, asked.stderr_text, apt) == (0, "", [])


def test_root_gets_just_the_missing_packages_installed(debian, all_installed):
    del all_installed["dunst"]
    asked, (update, install) = debian(AS_ROOT, {**all_installed, "xvfb": "config-files"})
    assert asked.returncode == 0
    assert update[-1] == "update"
    assert install[install.index("install") :] == ["install", "-y", "--no-install-recommends", "xvfb", "dunst"]


def test_who_is_not_root_is_told_what_to_install_and_goes_on(debian, all_installed):
    asked, apt = debian(AS_ANYONE, {**all_installed, "xvfb": "config-files"})
    assert one_line(asked, 0).endswith("sudo apt install xvfb")
    assert apt == []


def test_a_refusal_of_apt_is_one_line(debian):
    asked, apt = debian(AS_ROOT, {}, "echo Reading...; echo 'E: no such luck' >&2; exit 100")
    assert asked.returncode == 1
    announced, line = asked.stderr_text.splitlines()
    assert "installing" in announced
    assert "E: no such luck" in line
    assert len(apt) == 1, "the installation goes on after a failed update"


def test_a_system_that_is_no_debian_is_left_alone(checkout, tmp_path):
    asked = checkout.within(ONLY_PACKAGES + AS_ROOT, PATH=programs(tmp_path / "bin"))
    assert "no Debian" in one_line(asked, 0)


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="asks the real dpkg")
def test_the_real_dpkg_is_understood(checkout):
    asked = checkout.within("machine.DEBIAN_PACKAGES = ('dpkg', 'no-such-sloth')\nprint(machine.missing_debian_packages())")
    assert asked.stdout_text == "['no-such-sloth']\n"

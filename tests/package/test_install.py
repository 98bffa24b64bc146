"""The wheel as people install it, into an empty environment, by pipx and by uv: without a display, without a bus, with nothing but what it declares.

Needs PyPI, as installing does.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from slothtray.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent
OPTIONAL = {"gi": "the gtk tray, where a distribution has brought it"}
UV = [sys.executable, "-m", "uv"]
IMPORT_NAMES = {"pillow": "PIL", "python-xlib": "Xlib"}


def into_a_venv(folder, wheel):
    """Not by pip, which takes ten times as long and would be in it."""
    python = folder / "venv/bin/python"
    return [[sys.executable, "-m", "venv", "--without-pip", folder / "venv"], [*UV, "pip", "install", "--quiet", "--python", python, wheel]], python.parent


def by_pipx(folder, wheel):
    return [[sys.executable, "-m", "pipx", "install", "--python", sys.executable, wheel]], folder / "bin"


def by_uv(folder, wheel):
    return [[*UV, "tool", "install", "--quiet", "--python", sys.executable, wheel]], folder / "bin"


WAYS = {"venv": into_a_venv, "pipx": by_pipx, "uv": by_uv}


class Installed:
    """What one way of installing has made: the command, and the Python it runs with."""

    def __init__(self, folder, bin_folder, environment):
        self.folder, self.environment = folder, environment
        self.program = bin_folder / "slothtray"

    @property
    def python(self):
        return Path(self.program).resolve().parent / "python"

    def run(self, *words, code=0):
        """One command to its end; what it printed."""
        done = subprocess.run(
            [str(word) for word in words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, check=False
        )
        assert code is None or done.returncode == code, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=WAYS)
def installed(request, dist, tmp_path_factory):
    """The wheel, installed."""
    folder = tmp_path_factory.mktemp(request.param)
    calm = folder / "loadavg"
    calm.write_text("0.00 0.00 0.00 1/100 1\n")
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("DISPLAY", "WAYLAND", "DBUS", "XDG_", "SLOTHTRAY", "PYTHON"))}
    environment = {
        **bare, "HOME": str(folder), "SLOTHTRAY_LOADAVG": str(calm), "PATH": "/usr/bin:/bin",
        "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin"), "PIPX_MAN_DIR": str(folder / "man"),
        "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin"), "PIP_CACHE_DIR": cache("pip"), "UV_CACHE_DIR": cache("uv"),
    }  # fmt: skip
    steps, bin_folder = WAYS[request.param](folder, dist["whl"])
    made = Installed(folder, bin_folder, environment)
    for step in steps:
        made.run(*step)
    made.environment["PYTHONWARNINGS"] = "error"
    return made


def cache(name):
    """The person's own, though HOME is another: what was downloaded once need not come again."""
    return os.environ.get(f"{name.upper()}_CACHE_DIR") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), name)


def test_a_job_is_added_run_and_listed_without_a_display_or_a_bus(installed):
    assert installed.run(installed.program, "add", "echo installed; test -z \"$DISPLAY$DBUS_SESSION_BUS_ADDRESS\"") == "1\n"
    assert "job 1 done: ok" in installed.run(installed.program, "run", "--until-empty")
    assert (installed.folder / ".local/share/slothtray/logs/1.log").read_text() == "installed\n"
    assert "1   done" in installed.run(installed.program, "list")
    assert installed.run(installed.program, "--help").startswith("usage: slothtray ")
    assert installed.run(installed.program, "completion", "bash").startswith("# AUTO")
    if "doctor" in COMMANDS:  # which has something to say here: its exit code is its own tests' business
        assert installed.run(installed.program, "doctor", code=None)


def test_pipx_brings_the_manual_page(installed):
    if (installed.folder / "pipx").exists():
        assert (installed.folder / "man/man1/slothtray.1").read_bytes() == (ROOT / "assets/slothtray.1").read_bytes()


IMPORT_ALL = """
import importlib, pkgutil, slothtray
names = [found.name for found in pkgutil.walk_packages(slothtray.__path__, "slothtray.") if not found.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names), slothtray.__path__[0])
"""


def test_every_module_can_be_imported_with_nothing_but_what_is_declared(installed):
    count, where = installed.run(installed.python, "-c", IMPORT_ALL).split()
    assert int(count) > 90
    assert where.startswith(str(installed.folder))


def declared():
    """The names under which what pyproject.toml declares is imported."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        names = [re.split(r"[>=<;]", line)[0].strip().lower() for line in tomllib.load(file)["project"]["dependencies"]]
    return {IMPORT_NAMES.get(name, name) for name in names}


def imported():
    """What the sources import, anywhere in them, that isn't Python's or ours: name to one place."""
    found = {}
    for path in (ROOT / "slothtray").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                found[name.partition(".")[0]] = f"{path.name}:{node.lineno}"
    return {name: place for name, place in found.items() if name not in sys.stdlib_module_names and name != "slothtray"}


def test_every_import_in_the_sources_is_declared_and_everything_declared_is_imported():
    undeclared = {name: place for name, place in imported().items() if name not in declared() and name not in OPTIONAL}
    assert undeclared == {}
    assert declared() - set(imported()) == set()

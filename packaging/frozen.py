"""The folder that needs no Python, by PyInstaller: one for the system that this runs on. Run on Linux; elsewhere untested."""

import os
import shutil
import subprocess
import sys
import tempfile

import slothtray

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPEC = os.path.join(ROOT, "packaging", "slothtray.spec")
LOOK = 'env; tr "\\0" " " < /proc/$PPID/cmdline'
"""A job that tells what it got, and who started it."""


def build(target: str) -> str:
    """Make it in ``target``, and try it; its path. Raises CalledProcessError when PyInstaller won't, AssertionError."""
    name = f"slothtray-{slothtray.__version__}-{sys.platform}"
    with tempfile.TemporaryDirectory(prefix="slothtray-frozen-") as work:
        words = ["--noconfirm", "--log-level", "ERROR", "--distpath", work, "--workpath", os.path.join(work, "work"), SPEC]
        subprocess.run([sys.executable, "-m", "PyInstaller", *words], cwd=ROOT, check=True)
        made = os.path.join(target, name)
        shutil.rmtree(made, ignore_errors=True)
        shutil.move(os.path.join(work, "slothtray"), made)
        if sys.platform == "linux":
            try_out(os.path.join(made, "slothtray"), os.path.join(work, "queue"))
    return made


def try_out(program: str, home: str) -> None:
    """A job through the whole of it: its supervisor is the app's own binary, and its environment the person's."""
    environment = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "SLOTHTRAY_HOME": home, "LD_LIBRARY_PATH": "/theirs"}

    def run(*words: str) -> str:
        return subprocess.run([program, *words], env=environment, check=True, capture_output=True, text=True, timeout=60).stdout

    assert run("add", LOOK) == "1\n"
    run("run", "--until-empty", "--ceiling", "off")
    *variables, supervisor = run("log", "1").split("\n")
    assert supervisor.startswith(f"{program} --supervise "), supervisor
    assert "LD_LIBRARY_PATH=/theirs" in variables
    assert not [variable for variable in variables if variable.startswith("_PYI")]
    for words in (("completion", "bash"), ("config", "get", "ceiling"), ("list",)):
        assert run(*words)

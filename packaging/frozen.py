"""The folder that needs no Python, by PyInstaller: one for the system that this runs on. Run on Linux; elsewhere untested."""

import os
import shutil
import subprocess
import sys
import tempfile

import slothtray

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPEC = os.path.join(ROOT, "packaging", "slothtray.spec")


def build(target: str) -> str:
    """Make it in ``target``; its path. Raises CalledProcessError when PyInstaller won't."""
    name = f"slothtray-{slothtray.__version__}-{sys.platform}"
    with tempfile.TemporaryDirectory(prefix="slothtray-frozen-") as work:
        words = ["--noconfirm", "--log-level", "ERROR", "--distpath", work, "--workpath", os.path.join(work, "work"), SPEC]
        subprocess.run([sys.executable, "-m", "PyInstaller", *words], cwd=ROOT, check=True)
        made = os.path.join(target, name)
        shutil.rmtree(made, ignore_errors=True)
        shutil.move(os.path.join(work, "slothtray"), made)
    return made

"""What is built once for all tests of the packages."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """All that `dev.py package` makes of this tree, by the ending of its name: whl, gz, deb, rpm, zst."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, ROOT / "packaging" / "package.py", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    made = [Path(line) for line in done.stdout.splitlines()]
    assert sorted(made) == sorted(folder.iterdir())
    return {path.suffix[1:]: path for path in made}

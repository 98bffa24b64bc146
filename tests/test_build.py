"""What gets built: the wheel that pip installs, and the sdist that packagers take. Without the network."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of this tree, and the wheel made of nothing but that sdist: (names in the sdist, the wheel)."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), "--target"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
    (archive,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", archive], cwd=folder, check=True)
    with tarfile.open(archive) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    subprocess.run([*build, "wheel"], cwd=archive.with_name(archive.name.removesuffix(".tar.gz")), check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        yield names, opened


def files_below(*folder):
    return {path.relative_to(ROOT.joinpath(*folder)).as_posix() for path in ROOT.joinpath(*folder).rglob("*") if path.is_file()}


def test_the_wheel_carries_every_asset_and_migration(built):
    _, wheel = built
    names = set(wheel.namelist())
    assets = {f"slothtray/_assets/{name}" for name in files_below("assets")}
    migrations = {f"slothtray/store/migrations/{name}" for name in files_below("slothtray", "store", "migrations")}
    assert assets
    assert any(name.endswith(".sql") for name in migrations)
    assert assets | migrations <= names
    page = {name for name in names if name.endswith(".data/data/share/man/man1/slothtray.1")}
    assert len(page) == 1
    assert {name.partition("/")[0] for name in names - page if ".dist-info/" not in name} == {"slothtray"}


def test_the_wheel_installs_the_command_and_the_licence(built):
    _, wheel = built
    (entry,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "slothtray = slothtray.__main__:main" in wheel.read(entry).decode()
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())


def test_the_sdist_has_what_a_packager_needs_and_no_leavings(built):
    names, _ = built
    assert {"README.md", "CHANGELOG.md", "LICENSE", "tests/test_house.py", "packaging/dev.py"} <= names
    assert not [name for name in names if "__pycache__" in name or ".venv" in name]

"""The .deb as Debian's own tools see it, and that what is in it works from there. Its life in a real Debian: `dev.py debian`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def run(*words, **options):
    """All it prints; fail when it fails."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=50, **options)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def root(dist, tmp_path_factory):
    """The files of the .deb, in a folder."""
    folder = tmp_path_factory.mktemp("root")
    run("dpkg-deb", "--extract", dist["deb"], folder)
    return folder


def test_lintian_has_nothing_to_say(dist):
    said = run("lintian", "--allow-root", "--display-info", "--fail-on", "error", dist["deb"]).splitlines()
    # Newer ones mind that there is no homepage yet.
    assert [line for line in said if "appstream-metadata-validation-failed" not in line] == []


def test_it_needs_python_and_what_pyproject_declares_by_debians_names(dist):
    depends = run("dpkg-deb", "--field", dist["deb"], "Depends").strip().split(", ")
    assert depends[0] == "python3 (>= 3.11)"
    declared = re.findall(r'^    "([\w-]+)[>=<]', (ROOT / "pyproject.toml").read_text().split("\ndependencies = [")[1].split("\n]")[0], re.MULTILINE)
    names = {"pillow": "python3-pil", "python-xlib": "python3-xlib"}
    expected = {names.get(name.lower(), f"python3-{name.lower()}") for name in declared} - {"python3-pyperclip"}
    assert set(depends[1:]) == expected


def test_every_file_is_where_debian_and_the_desktop_look_for_it(root):
    library = root / "usr/lib/python3/dist-packages/slothtray"
    for path in (ROOT / "slothtray").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert (library / path.relative_to(ROOT / "slothtray")).read_bytes() == path.read_bytes()
    assert os.readlink(library / "_assets") == "../../../../share/slothtray"
    share = root / "usr/share"
    for name in (
        "applications/slothtray.desktop", "metainfo/io.github.slothtray.slothtray.metainfo.xml", "man/man1/slothtray.1.gz",
        "icons/hicolor/48x48/apps/slothtray.png", "icons/hicolor/scalable/apps/slothtray.svg",
        "bash-completion/completions/slothtray", "zsh/vendor-completions/_slothtray", "fish/vendor_completions.d/slothtray.fish",
        "doc/slothtray/copyright", "doc/slothtray/changelog.Debian.gz", "slothtray/hicolor/22x22/status/slothtray-idle.png",
    ):  # fmt: skip
        assert (share / name).is_file(), name


def test_the_command_in_it_adds_runs_and_lists(root, home):
    program = root / "usr/bin/slothtray"
    assert os.access(program, os.X_OK)
    assert program.read_text().startswith("#!/usr/bin/python3\n")
    environment = {**home.environment, "PYTHONPATH": str(root / "usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1"}

    def slothtray(*words):
        return run(sys.executable, program, *words, env=environment, cwd=home.work)

    assert slothtray("add", "echo from the .deb") == "1\n"
    slothtray("run", "--until-empty", "--ceiling", "off")
    assert slothtray("log", "1") == "from the .deb\n"
    where = "import slothtray; print(slothtray.__file__)"
    assert run(sys.executable, "-c", where, env=environment, cwd=home.work).startswith(str(root))
    assert slothtray("completion", "fish").startswith("# AUTO")


def test_a_package_is_the_same_byte_for_byte_when_it_is_built_again(dist, tmp_path):
    import linux_packages

    for kind in linux_packages.KINDS:
        (tmp_path / kind).mkdir()
        again = Path(linux_packages.build(kind, str(dist["whl"]), str(tmp_path), str(tmp_path / kind)))
        assert again.read_bytes() == dist[again.suffix[1:]].read_bytes(), kind


@pytest.mark.parametrize(("ending", "magic"), [("rpm", b"\xed\xab\xee\xdb"), ("zst", b"\x28\xb5\x2f\xfd")])
def test_the_other_packages_are_what_their_names_say(dist, ending, magic):
    assert dist[ending].read_bytes().startswith(magic)

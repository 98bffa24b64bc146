"""What is made from the table of commands, and the files for the desktop: current, valid, and of commands that exist."""

import configparser
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import completions
import linux_packages
import manual
import pytest

import slothtray
from slothtray.cli.main import find
from slothtray.cli.parser import parse
from slothtray.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent
RENEW = "the commands have changed: run `python3 packaging/dev.py generate`"
PAGE = ROOT / "assets" / "slothtray.1"
LAUNCHER = ROOT / "packaging" / "linux" / "slothtray.desktop"


def run(*words):
    """Its exit code and all it says."""
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=50)
    return done.returncode, done.stdout


def test_the_committed_manual_page_is_that_of_the_commands():
    assert PAGE.read_text() == manual.manual(), RENEW


def test_the_committed_completions_are_those_of_the_commands():
    made = dict(completions.scripts())
    folder = ROOT / "assets" / "completions"
    assert {path.name: path.read_text() for path in folder.iterdir()} == made, RENEW


def test_the_manual_page_renders_without_a_warning_and_has_every_command_and_option():
    words = ["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l", str(PAGE)]
    plain = {"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, env=plain, capture_output=True, text=True, check=True, timeout=50)
    assert done.stderr == ""
    shown = re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout)
    for command in COMMANDS.values():
        section = re.search(rf"^   slothtray {command.name}( [^\n]*)?\n(.*?)^(   )?\w", shown, re.MULTILINE | re.DOTALL)
        assert section, command.name
        for option in command.options:
            assert re.search(rf"^       {re.escape(', '.join(option.names))}\b", section[2], re.MULTILINE), option.names
    for word in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES"):
        assert re.search(rf"^{word}$", shown, re.MULTILINE)


def test_the_launcher_is_valid():
    assert run("desktop-file-validate", LAUNCHER) == (0, "")


def test_the_launchers_actions_are_commands_that_exist():
    launcher = configparser.ConfigParser(interpolation=None)
    launcher.optionxform = str
    launcher.read(LAUNCHER)
    actions = launcher["Desktop Entry"]["Actions"].rstrip(";").split(";")
    assert {f"Desktop Action {name}" for name in actions} == set(launcher.sections()) - {"Desktop Entry"}
    for name in actions:
        program, notify, *words = shlex.split(launcher[f"Desktop Action {name}"]["Exec"])
        assert (program, notify) == ("slothtray", "--notify")
        assert parse(find(words[0]), words[1:])
    assert launcher["Desktop Entry"]["TryExec"] == "slothtray"
    assert launcher["Desktop Entry"]["Exec"] == "slothtray --notify"


def test_the_metainfo_is_valid_and_tells_the_newest_version():
    path = ROOT / "packaging" / "linux" / linux_packages.METAINFO
    # There is no homepage yet, which AppStream minds since 1.0; before that it can't be told not to.
    _, version = run("appstreamcli", "--version")
    without = [] if ": 0." in version else ["--override=url-homepage-missing=info"]
    code, said = run("appstreamcli", "validate", "--no-net", *without, path)
    assert code == 0, said
    newest = ET.parse(path).find("releases/release")
    version, date = linux_packages.release()
    assert (newest.get("version"), newest.get("date")) == (version, date.date().isoformat())


def test_all_files_agree_on_the_version():
    version = slothtray.__version__
    assert linux_packages.release()[0] == version
    told = re.findall(r"slothtray[-_](\d[\w.]*\d)[-_]", (ROOT / "README.md").read_text())
    for path in (ROOT / "packaging" / "windows").iterdir():
        told += re.findall(r"^PackageVersion: (.*)$|slothtray-(.*)-win32", path.read_text(), re.MULTILINE)
    assert {"".join(one) for one in told} == {version}
    assert len(told) >= 6


@pytest.mark.parametrize("script", ["debian-postinst", "debian-prerm", "compile", "rpm-preun", "arch-pre-remove"])
def test_the_packages_scripts_are_shell(script):
    assert run("sh", "-n", ROOT / "packaging" / "linux" / script) == (0, "")



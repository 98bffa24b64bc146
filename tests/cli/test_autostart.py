"""`slothtray autostart` through the real program: what it writes, says and refuses."""

import json
import os
import shutil
import subprocess
import sys

import pytest


class Person:
    """Someone with a home folder and slothtray installed in it."""

    def __init__(self, home, tmp_path):
        self.home = home
        self.config = tmp_path / "config"
        home.environment.update(HOME=str(tmp_path), XDG_CONFIG_HOME=str(self.config), XDG_DATA_HOME=str(tmp_path / "data"))
        home.environment.pop("XDG_CURRENT_DESKTOP", None)
        self.program = self.install(tmp_path / "my programs")
        self.entry = self.config / "autostart" / "slothtray.desktop"
        self.unit = self.config / "systemd" / "user" / "slothtray.service"
        self.link = self.unit.parent / "default.target.wants" / self.unit.name

    def install(self, folder):
        folder.mkdir(exist_ok=True)
        program = folder / "slothtray"
        program.write_text(f"#!{sys.executable}\nimport sys\nfrom slothtray.__main__ import main\nsys.exit(main())\n")
        program.chmod(0o755)
        return program

    def run(self, *words, code=0, program=None, **environment):
        done = subprocess.run(
            [program or self.program, *words], env={**self.home.environment, **environment}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def status(self, *words):
        return json.loads(self.run(*words, "autostart", "status", "--json").stdout)


@pytest.fixture
def person(home, tmp_path):
    return Person(home, tmp_path)


def test_enable_status_and_disable(person):
    assert person.status()["login"] == {"enabled": False, "path": str(person.entry), "command": None, "problem": None}
    done = person.run("autostart", "enable")
    assert (done.stdout, done.stderr) == (f"starts at login: {person.entry}\n", "")
    assert person.status()["login"]["enabled"] is True
    assert f'Exec="{person.program}" --home {person.home.path}\n' in person.entry.read_text()
    assert person.run("autostart").stdout.startswith("login      enabled (")
    assert person.run("autostart", "disable").stdout == f"removed: {person.entry}\n"
    assert not person.entry.exists()
    assert person.run("autostart", "disable").stdout == ""
    assert person.run("autostart", "status").stdout.splitlines()[:2] == ["login      off", "headless   off"]


@pytest.mark.parametrize(("desktop", "told"), [("sway", True), ("XFCE", False), ("", False)])
def test_where_nothing_reads_entries_it_is_told_what_does(person, desktop, told):
    said = person.run("autostart", "enable", XDG_CURRENT_DESKTOP=desktop).stderr
    assert ("`dex -a -e sway`" in said) == told


def test_the_entry_picks_the_folder_that_is_in_use_and_none_for_the_usual_one(person):
    del person.home.environment["SLOTHTRAY_HOME"]
    person.run("autostart", "enable")
    assert person.status()["login"]["command"] == [str(person.program)]
    person.run("--home", "lane ü", "autostart", "enable")
    assert person.status("--home", "lane ü")["login"]["command"] == [str(person.program), "--home", os.path.abspath("lane ü")]
    assert person.status()["login"]["problem"].startswith("it is for another queue folder: ")
    assert "before, it is for another queue folder" in person.run("autostart", "enable").stderr


def test_headless_writes_the_service_and_names_what_keeps_it_after_a_logout(person):
    systemctl = person.program.parent / "systemctl"
    systemctl.write_text('#!/bin/sh\necho "$@" >> "$HOME/asked"\n')
    systemctl.chmod(0o755)
    path = {"PATH": f"{systemctl.parent}:{os.environ['PATH']}"}
    done = person.run("autostart", "enable", "--headless", **path)
    assert done.stdout == f"starts without a desktop: {person.unit}\n"
    assert "`systemctl --user start slothtray` starts it now" in done.stderr
    assert "loginctl enable-linger" in done.stderr
    assert f'ExecStart="{person.program}" --home {person.home.path} run\n' in person.unit.read_text()
    assert person.link.is_symlink()
    assert (person.config.parent / "asked").read_text() == "--user daemon-reload\n"
    assert person.status()["headless"]["enabled"] is True
    assert not person.entry.exists()
    person.run("autostart", "enable", **path)
    assert person.run("autostart", "disable", "--headless", **path).stdout == f"removed: {person.unit}\n"
    assert person.entry.exists()
    person.run("autostart", "enable", "--headless", **path)
    person.run("autostart", "disable", **path)
    assert not any(found.exists() or found.is_symlink() for found in (person.entry, person.unit, person.link))


def test_the_service_s_own_words_run_the_queue(person):
    """What systemd would start, started by hand: the runner, on this queue, with nothing in its environment."""
    person.run("autostart", "enable", "--headless", PATH="")
    number = person.home.add("echo it ran")
    (line,) = [line for line in person.unit.read_text().splitlines() if line.startswith("ExecStart=")]
    command = f"exec env -i HOME='{person.config.parent}' {line.partition('=')[2]} --until-empty --ceiling off"
    subprocess.run(["sh", "-c", command], check=True, timeout=60, capture_output=True)
    assert person.home.log(number) == "it ran\n"


def test_the_service_finds_the_usual_folder_where_the_person_has_put_it(person, tmp_path):
    """A user's manager reads no ~/.profile, in which people set these."""
    del person.home.environment["SLOTHTRAY_HOME"]
    person.home.environment["XDG_DATA_HOME"] = str(tmp_path / "my dätä")
    person.run("autostart", "enable", "--headless")
    assert f'\nEnvironment="XDG_DATA_HOME={tmp_path}/my dätä"\n' in person.unit.read_text()
    judge = ["systemd-analyze", "verify", "--user", "--man=no", str(person.unit)]
    subprocess.run(judge, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}, check=True, timeout=30)
    assert person.status()["headless"]["enabled"] is True
    person.home.environment["XDG_DATA_HOME"] = str(tmp_path / "100%")
    assert "a % sign" in person.run("autostart", "enable", "--headless", code=1).stderr


@pytest.mark.parametrize("bad", ["100%f", 'say "ü"', "it's"])
def test_a_path_that_logins_read_differently_is_refused_in_one_line(person, tmp_path, bad):
    program = person.install(tmp_path / bad)
    for words in (["enable"], ["enable", "--headless"]):
        done = person.run("autostart", *words, code=1, program=program)
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "which logins read differently" in done.stderr
    assert not person.config.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["on"], "there is no `slothtray autostart on`: use enable, disable or status"),
        (["enable", "--json"], "`slothtray autostart enable` has no --json"),
        (["enable", "disable"], "usage: slothtray autostart [OPTIONS] [enable | disable | status]"),
    ],
)
def test_words_that_do_not_fit_are_told(person, words, said):
    done = person.run("autostart", *words, code=2)
    assert said in (done.stdout if "--json" in words else done.stderr)


def test_nothing_of_the_queue_is_made(person):
    person.run("autostart", "enable")
    person.run("autostart")
    person.run("autostart", "disable")
    assert not person.home.path.exists()


def test_an_entry_of_a_program_that_is_gone_is_told(person):
    person.run("autostart", "enable")
    shutil.move(person.program, person.program.with_name("slothtray2"))
    said = person.run("autostart", program=person.program.with_name("slothtray2")).stdout
    assert f"login      off: its program is gone: {person.program}" in said

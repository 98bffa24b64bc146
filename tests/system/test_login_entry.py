"""What each system's login gets to read, and what a person or a settings program has made of it since."""

import os
import plistlib
import subprocess
import sys

import pytest

from slothtray.errors import Refused
from slothtray.system.autostart import entry, program, words
from slothtray.system.autostart.launchagent import LaunchAgent
from slothtray.system.autostart.runkey import APPROVED, RUN, RunKey
from slothtray.system.autostart.unit import UserUnit
from slothtray.system.autostart.xdg import XdgAutostart
from slothtray.system.linger import lingers

GOOD = ["plain", "with space", "ü-日本", "semi;colon", "(round)", "a&b", "~#*?!<>|"]


@pytest.fixture
def installed(tmp_path):
    """A program that is there, in a folder of that name."""

    def make(name="bin"):
        path = tmp_path / name / "slothtray"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "config" / "autostart")


@pytest.mark.parametrize("name", GOOD)
def test_what_is_written_is_a_valid_entry_and_comes_back_as_the_same_words(installed, folder, name):
    argv = [installed(name), "--home", f"/x/{name}"]
    login = XdgAutostart(argv, folder)
    login.enable()
    path = f"{folder}/slothtray.desktop"
    done = subprocess.run(["desktop-file-validate", "--warn-kde", path], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert login.state() == (True, path, tuple(argv), "")
    assert os.listdir(folder) == ["slothtray.desktop"]


@pytest.mark.parametrize("name", GOOD)
def test_systemd_s_own_reader_which_logins_of_plasma_and_gnome_use_starts_the_same_words(installed, folder, tmp_path, name):
    argv = [installed(name), "--home", f"/x/{name}"]
    XdgAutostart(argv, folder).enable()
    made = tmp_path / "made"
    made.mkdir()
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": os.path.dirname(folder), "XDG_CONFIG_DIRS": "/nothing", "XDG_CURRENT_DESKTOP": "KDE"}
    subprocess.run(["/usr/lib/systemd/user-generators/systemd-xdg-autostart-generator", *[made] * 3], env=env, check=True, timeout=20)
    (unit,) = made.glob("*.service")
    (line,) = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    assert words.words_of(line.partition("=:")[2]) == tuple(argv)


@pytest.mark.parametrize("bad", ["100%f", 'a"b', "it's", "a`b", "a$b", "a\\b", "a\nb", os.fsdecode(b"\xff")])
@pytest.mark.parametrize("place", ["program", "home"])
def test_what_logins_read_differently_is_refused_with_the_reason_and_nothing_is_written(folder, bad, place):
    argv = [f"/x/{bad}/slothtray"] if place == "program" else ["/x/slothtray", "--home", f"/x/{bad}"]
    with pytest.raises(Refused, match="in it, which logins read differently: install it, or put the queue folder, somewhere else"):
        XdgAutostart(argv, folder).enable()
    with pytest.raises(Refused, match="in it"):
        UserUnit(argv, folder).enable()
    assert not os.path.exists(folder)


def test_a_program_with_an_equal_sign_is_refused_and_a_folder_is_not(folder):
    with pytest.raises(Refused, match="no = in it"):
        XdgAutostart(["/a=b/slothtray"], folder).enable()
    assert words.command_line(["/x/slothtray", "--home", "/a=b"]) == '/x/slothtray --home "/a=b"'


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled=false"])
def test_a_person_s_switching_off_is_respected_until_an_explicit_enable(installed, folder, line):
    login = XdgAutostart([installed()], folder)
    login.enable()
    path = f"{folder}/slothtray.desktop"
    key = line.partition("=")[0]
    with open(path) as file:
        kept = [one for one in file.read().splitlines() if not one.startswith(key)]
    with open(path, "w") as file:
        file.write("\n".join([*kept, line, "[Desktop Action x]", "Hidden=false"]))
    assert not login.enabled()
    assert "switched off" in login.state().problem
    login.enable()
    assert login.enabled()


def test_an_entry_whose_program_was_uninstalled_starts_nothing_and_says_so(installed, folder):
    program = installed()
    login = XdgAutostart([program], folder)
    login.enable()
    os.unlink(program)
    assert login.state() == (False, f"{folder}/slothtray.desktop", (program,), f"its program is gone: {program}")


def test_an_entry_for_another_queue_folder_is_not_this_one_s(installed, folder):
    XdgAutostart([installed(), "--home", "/one"], folder).enable()
    assert XdgAutostart([installed(), "--home", "/one"], folder).enabled()
    assert XdgAutostart([installed()], folder).state().problem == "it is for another queue folder: /one"
    XdgAutostart([installed()], folder).enable()
    assert XdgAutostart([installed(), "--home", "/one"], folder).state().problem == "it is for another queue folder: the usual one"


def test_disable_leaves_nothing_and_may_be_repeated(installed, folder):
    login = XdgAutostart([installed()], folder)
    login.enable()
    for _ in range(2):
        login.disable()
        assert os.listdir(folder) == []
    assert login.state() == (False, f"{folder}/slothtray.desktop", (), "")


def test_an_entry_that_is_a_link_is_written_where_it_points(installed, folder, tmp_path):
    dotfiles = tmp_path / "dotfiles.desktop"
    dotfiles.touch()
    os.makedirs(folder)
    os.symlink(dotfiles, f"{folder}/slothtray.desktop")
    XdgAutostart([installed()], folder).enable()
    assert os.path.islink(f"{folder}/slothtray.desktop")
    assert entry.parse(dotfiles.read_text()).command == (installed(),)


def test_a_folder_that_can_not_be_written_is_named_with_the_reason(installed, tmp_path):
    (tmp_path / "config").write_text("a file")
    with pytest.raises(Refused, match=r"slothtray\.desktop can't be written: "):
        XdgAutostart([installed()], str(tmp_path / "config" / "autostart")).enable()


@pytest.mark.parametrize("text", ["", "nothing\n", "[Desktop Entry]\n", '[Desktop Entry]\nExec="open\n', "[Desktop Entry]\nExec=\n"])
def test_an_entry_that_makes_no_sense_starts_nothing(folder, text):
    os.makedirs(folder)
    with open(f"{folder}/slothtray.desktop", "w") as file:
        file.write(text)
    assert XdgAutostart(["/x"], folder).state().problem == "it starts nothing"


# --- without a desktop


@pytest.mark.parametrize("name", GOOD)
def test_the_user_service_is_valid_for_systemd_and_wanted_by_the_users_manager(installed, tmp_path, name):
    folder = tmp_path / "systemd" / "user"
    argv = [installed(name), "--home", f"/x/{name}", "run"]
    unit = UserUnit(argv, str(folder))
    unit.enable()
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    judge = ["systemd-analyze", "verify", "--user", "--man=no", str(folder / "slothtray.service")]
    done = subprocess.run(judge, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert os.readlink(folder / "default.target.wants" / "slothtray.service") == str(folder / "slothtray.service")
    assert unit.state() == (True, str(folder / "slothtray.service"), tuple(argv), "")
    text = (folder / "slothtray.service").read_text()
    assert "\nKillMode=process\n" in text
    assert "\nRestart=on-failure\n" in text


def test_disabling_the_service_leaves_neither_unit_nor_link(installed, tmp_path):
    unit = UserUnit([installed(), "run"], str(tmp_path / "user"))
    unit.enable()
    unit.enable()
    os.unlink(tmp_path / "user" / "default.target.wants" / "slothtray.service")
    assert "switched off" in unit.state().problem
    unit.enable()
    for _ in range(2):
        unit.disable()
        assert os.listdir(tmp_path / "user") == []
        assert not unit.enabled()


def test_the_links_of_other_services_stay(installed, tmp_path):
    other = tmp_path / "default.target.wants" / "other.service"
    other.parent.mkdir()
    other.touch()
    unit = UserUnit([installed(), "run"], str(tmp_path))
    unit.enable()
    unit.disable()
    assert os.listdir(other.parent) == ["other.service"]


def test_whether_services_outlive_a_logout_is_read_from_logind_s_own_folder(tmp_path):
    assert lingers(str(tmp_path)) is None
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert lingers(str(tmp_path)) is False
    import pwd

    linger = tmp_path / "var/lib/systemd/linger" / pwd.getpwuid(os.getuid()).pw_name
    linger.parent.mkdir(parents=True)
    linger.touch()
    assert lingers(str(tmp_path)) is True


# --- which program


def test_the_program_is_the_one_that_was_started_and_a_link_stays_a_link(installed, monkeypatch, tmp_path):
    link = tmp_path / "slothtray"
    link.symlink_to(installed())
    monkeypatch.setattr(sys, "argv", [str(link), "add"])
    assert program.command() == [str(link)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["./slothtray"])
    assert program.command() == [str(link)]


def test_started_as_a_module_it_is_the_installed_command_of_this_python_or_the_module(installed, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [os.path.abspath("slothtray/__main__.py")])
    monkeypatch.setattr(program.sysconfig, "get_path", lambda _name: os.path.dirname(installed()))
    assert program.command() == [installed()]
    monkeypatch.setattr(program.sysconfig, "get_path", lambda _name: str(tmp_path / "nothing"))
    assert program.command() == [sys.executable, "-m", "slothtray"]


def test_a_packed_program_is_its_own_file(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.delenv("APPIMAGE", raising=False)
    assert program.command() == [sys.executable]
    monkeypatch.setenv("APPIMAGE", "/x/slothtray.AppImage")
    assert program.command() == ["/x/slothtray.AppImage"]


# --- the systems that are not here


def test_the_launch_agent_is_a_property_list_that_starts_the_program_at_login(installed, tmp_path):
    argv = [installed("with space"), "--home", "/ü"]
    login = LaunchAgent(argv, str(tmp_path / "LaunchAgents"))
    assert login.state() == (False, str(tmp_path / "LaunchAgents" / "slothtray.plist"), (), "")
    login.enable()
    path = tmp_path / "LaunchAgents" / "slothtray.plist"
    found = plistlib.loads(path.read_bytes())
    assert (found["ProgramArguments"], found["RunAtLoad"], found["Label"]) == (argv, True, "slothtray")
    assert login.enabled()
    path.write_bytes(plistlib.dumps({**found, "Disabled": True}))
    assert not login.enabled()
    path.write_bytes(b"<plist")
    with pytest.raises(Refused, match=r"slothtray\.plist can't be read"):
        login.enabled()
    login.disable()
    login.disable()
    assert not login.enabled()


class Registry:
    """A stand-in for winreg: keys of the person's own, each a dict of values."""

    HKEY_CURRENT_USER, KEY_SET_VALUE, REG_SZ = "HKCU", 2, 1

    def __init__(self):
        self.keys = {}

    class Key(dict):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def CreateKeyEx(self, _root, path, *_):  # noqa: N802
        return self.keys.setdefault(path, self.Key())

    def OpenKey(self, _root, path, *_):  # noqa: N802
        if path not in self.keys:
            raise FileNotFoundError
        return self.keys[path]

    def SetValueEx(self, key, name, _zero, kind, value):  # noqa: N802
        key[name] = (value, kind)

    def QueryValueEx(self, key, name):  # noqa: N802
        if name not in key:
            raise FileNotFoundError
        return key[name]

    def DeleteValue(self, key, name):  # noqa: N802
        if name not in key:
            raise FileNotFoundError
        del key[name]


def test_the_run_key_is_written_and_task_manager_s_switch_respected():
    registry = Registry()
    login = RunKey([r"C:\Program Files\slothtray.exe", "--home", r"D:\x"], registry)
    assert not login.enabled()
    login.enable()
    assert registry.keys[RUN]["slothtray"] == (r'"C:\Program Files\slothtray.exe" --home D:\x', registry.REG_SZ)
    assert login.enabled()
    registry.keys[APPROVED] = registry.Key(slothtray=(b"\x03" + bytes(11), 3))
    assert login.state().problem == "switched off in Task Manager"
    login.enable()
    assert login.enabled()
    assert not RunKey(["other.exe"], registry).enabled()
    login.disable()
    login.disable()
    assert registry.keys[RUN] == {}

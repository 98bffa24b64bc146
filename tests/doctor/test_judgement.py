"""What the doctor makes of readings: pure, a case a line."""

import errno
import fcntl
import os
import time

import pytest

from slothtray.config import Reading, defaults
from slothtray.doctor import clocks, database, desktop, folder, gates, login, settings
from slothtray.doctor.checks import Check, Examination, run
from slothtray.errors import Refused
from slothtray.policy import Instant
from slothtray.store.health import Health
from slothtray.store.schema import LATEST
from slothtray.system.facts import distribution, storage
from slothtray.system.facts.clocks import Clocks, Signals
from slothtray.system.facts.desktop import Owner, Screen, Server
from slothtray.system.facts.storage import Folder, kind_of
from slothtray.system.ports import LoginState
from slothtray.tray.search import SNI, XEMBED, Seen

NOWHERE = Screen("", answers=False, desktop="")
X = Screen(":0", answers=True, desktop="XFCE")
WAYLAND = Screen("wayland-0", answers=True, desktop="sway")
GNOME = Screen("wayland-0", answers=True, desktop="ubuntu:GNOME")
DEBIAN, FEDORA = 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', "ID=fedora\n"


def apt(package):
    return distribution.install(package, DEBIAN)


@pytest.mark.parametrize(
    ("os_release", "command"),
    [
        (DEBIAN, "sudo apt install xclip"),
        ("ID=ubuntu\nID_LIKE=debian\n", "sudo apt install xclip"),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "sudo apt install xclip"),
        (FEDORA, "sudo dnf install xclip"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "sudo dnf install xclip"),
        ("ID=arch\n", "sudo pacman -S xclip"),
        ("ID=manjaro\nID_LIKE=arch\n", "sudo pacman -S xclip"),
        ('ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n', "sudo zypper install xclip"),
        ("ID=nixos\n", "install the package xclip"),
        ("# nothing\nID='\n", "install the package xclip"),
        ("", "install the package xclip"),
    ],
)
def test_the_command_is_that_of_the_distribution(os_release, command):
    assert distribution.install("xclip", os_release) == command


@pytest.mark.parametrize(
    ("check", "status", "words", "fix"),
    [
        # on a server nothing of a desktop is a problem
        (desktop.display(NOWHERE), "ok", "`slothtray run`", ""),
        (desktop.bus("no session bus (DBUS_SESSION_BUS_ADDRESS is not set)", NOWHERE), "ok", "none is needed", ""),
        (desktop.panel(None, None, NOWHERE, apt), "ok", "none is needed", ""),
        (desktop.tray((), NOWHERE, ""), "ok", "none is needed", ""),
        (desktop.notifications(Server(""), NOWHERE, apt), "ok", "none is needed", ""),
        (desktop.clipboard((), NOWHERE, apt), "ok", "none is needed", ""),
        # display and bus
        (desktop.display(X), "ok", ":0 answers, XFCE", ""),
        (desktop.display(X._replace(answers=False)), "problem", ":0 does not answer", "terminal of the desktop"),
        (desktop.bus("", X), "ok", "answers", ""),
        (desktop.bus("the session bus does not answer", X), "problem", "does not answer", "dbus-run-session"),
        # the panel
        (desktop.panel(Seen(watcher=True, host=True), Owner(7, "xfce4-panel"), X, apt), "ok", "(xfce4-panel, pid 7)", ""),
        (desktop.panel(Seen(watcher=True), Owner(7, "kded5"), X, apt), "warning", "no panel shows them", "sudo apt install xfce4-panel"),
        (desktop.panel(Seen(xembed=True), None, X, apt), "ok", "XEmbed", ""),
        (desktop.panel(Seen(), None, X, apt), "problem", "there is no icon", "sudo apt install xfce4-panel, then start"),
        (desktop.panel(Seen(), None, WAYLAND, apt), "problem", "there is no icon", "sudo apt install waybar"),
        (desktop.panel(Seen(), None, GNOME, apt), "problem", "no icon", "sudo apt install gnome-shell-extension-appindicator, then log in anew and switch it on"),
        (desktop.tray(SNI, X, ""), "ok", "sni: icon, tooltip, menu", ""),
        (desktop.tray(desktop.usable(XEMBED, has_gi=False), X, ""), "ok", "xembed: icon and left click; no menu", ""),
        (desktop.tray(desktop.usable(XEMBED, has_gi=True), X, ""), "ok", "gtk: icon", ""),
        (desktop.tray(SNI, X, "xembed"), "ok", "(by SLOTHTRAY_TRAY)", ""),
        (desktop.tray((), X, ""), "ok", "comes with the panel", ""),
        # notifications and clipboard
        (desktop.notifications(Server("dunst", "1.9", ("actions", "body")), X, apt), "ok", "dunst 1.9 can actions, body", ""),
        (desktop.notifications(Server("notify-osd", "1", ("body",)), X, apt), "ok", "no buttons", ""),
        (desktop.notifications(Server("", startable=True), X, apt), "ok", "started by the first one", ""),
        (desktop.notifications(Server(""), X, apt), "problem", "no notification service", "sudo apt install dunst"),
        (desktop.clipboard(("xclip",), X, apt), "ok", "xclip", ""),
        (desktop.clipboard((), X, apt), "warning", "can't be read", "sudo apt install xclip"),
        (desktop.clipboard((), WAYLAND, apt), "warning", "can't be read", "sudo apt install wl-clipboard"),
    ],
)
def test_the_desktop(check, status, words, fix):
    judged(check, status, words, fix)


def judged(check, status, words, fix):
    assert check.status == status, check
    assert words in check.detail
    assert fix in check.fix
    assert bool(check.fix) == (status != "ok"), "what is not well has a remedy, and only that"


ON = LoginState(enabled=True, place="/e.desktop", command=("/x",))
OFF = LoginState(enabled=False, place="/e.desktop")
GONE = OFF._replace(command=("/x",), problem="its program is gone: /x")
HIDDEN = OFF._replace(command=("/x",), problem="switched off there (Hidden=true)")


@pytest.mark.parametrize(
    ("check", "status", "words", "fix"),
    [
        (login.autostart(ON), "ok", "/e.desktop", ""),
        (login.autostart(OFF), "ok", "`slothtray autostart enable` sets it up", ""),
        (login.autostart(HIDDEN), "ok", "Hidden=true", ""),
        (login.autostart(GONE), "problem", "its program is gone: /x", "slothtray autostart enable"),
        (login.headless(ON, OFF), "ok", "without a desktop", ""),
        (login.headless(None, OFF), "ok", "not on this system", ""),
        (login.headless(GONE, OFF), "problem", "gone", "slothtray autostart enable --headless"),
        (login.headless(ON, ON), "warning", "both start", "slothtray autostart disable --headless"),
        (login.linger(None, ON), "ok", "no systemd", ""),
        (login.linger(True, ON), "ok", "outlive", ""),
        (login.linger(False, OFF), "ok", "`loginctl enable-linger`", ""),
        (login.linger(False, ON), "warning", "ends with the logout", "loginctl enable-linger"),
    ],
)
def test_the_login(check, status, words, fix):
    judged(check, status, words, fix)


MINE = Folder("/q r", "/q r", True, 1000, 1000, 0o700, True, "ext4", 10**12, True, "")


@pytest.mark.parametrize(
    ("check", "status", "words", "fix"),
    [
        (folder.folder(MINE), "ok", "yours alone (mode 700)", ""),
        (folder.folder(MINE._replace(mode=0o755)), "warning", "others get in (mode 755)", "chmod 700 '/q r'"),
        (folder.folder(MINE._replace(owner=0)), "problem", "belongs to user 0, you are 1000", "sudo chown -R 1000 '/q r'"),
        (folder.folder(MINE._replace(writable=False, mode=0o500)), "problem", "can't be written", "chmod 700 '/q r'"),
        (folder.folder(MINE._replace(is_folder=False)), "problem", "is not a folder", "--home DIR"),
        (folder.folder(MINE._replace(place="/")), "ok", "not there yet", ""),
        (folder.folder(MINE._replace(place="/", writable=False)), "problem", "can't be made in /", "--home DIR"),
        (folder.filesystem(MINE), "ok", "ext4", ""),
        (folder.filesystem(MINE._replace(kind="nfs4")), "warning", "locks can't be relied on", "local disk"),
        (folder.filesystem(MINE._replace(kind="tmpfs")), "warning", "lost at the next boot", "on a disk"),
        (folder.lock(MINE), "ok", "keeps a second holder out", ""),
        (folder.lock(MINE._replace(lock="Function not implemented")), "problem", "not implemented", "local disk"),
        (folder.space(MINE), "ok", "1000.0 GB free", ""),
        (folder.space(MINE._replace(free=10**8)), "warning", "100 MB free", "slothtray prune"),
        (folder.space(MINE._replace(free=10**6)), "problem", "1.0 MB free", "slothtray prune"),
        (folder.space(MINE._replace(files_left=False)), "problem", "inodes", "slothtray prune"),
    ],
)
def test_the_queue_folder(check, status, words, fix):
    judged(check, status, words, fix)


@pytest.mark.parametrize(
    ("path", "kind"), [("/home/me/q", "ext4"), ("/", "overlay"), ("/homes", "overlay"), ("/home/my nfs/q", "nfs4"), ("/twice/q", "second")]
)
def test_a_folder_is_on_the_innermost_mount_that_was_made_last(path, kind):
    lines = ["/ / rw - overlay o rw", "/ /home rw - ext4 /dev/sda1 rw", r"/ /home/my\040nfs rw shared:1 - nfs4 host:/ rw"]
    lines += ["/ /twice rw - first x rw", "/ /twice rw - second x rw", "nonsense"]
    mountinfo = "\n".join(f"{number} 1 8:{number} {line}" for number, line in enumerate(lines))
    assert kind_of(path, mountinfo) == kind


def test_locks_are_tried_on_the_folder_itself_and_leave_no_trace(tmp_path, monkeypatch):
    tried = []
    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, how: (tried.append(os.readlink(f"/proc/self/fd/{descriptor}")), real(descriptor, how)))
    assert storage.folder(str(tmp_path)).lock == ""
    assert tried == [str(tmp_path)] * 2
    assert os.listdir(tmp_path) == []
    assert storage.folder(str(tmp_path / "not there")).lock == ""
    assert len(tried) == 2
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)  # a file system that takes every lock
    assert storage.folder(str(tmp_path)).lock == "a second lock is granted beside the first"

    def none(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    assert storage.folder(str(tmp_path)).lock == "Function not implemented"


WHOLE = Health(exists=True, mode=0o600, size=90_000, version=LATEST, findings=("ok",), queue={})


@pytest.mark.parametrize(
    ("check", "status", "words", "fix"),
    [
        (database.database(WHOLE, "/q.db"), "ok", f"schema {LATEST}, whole, 90 kB", ""),
        (database.database(Health(exists=False), "/q.db"), "ok", "not there yet", ""),
        (database.database(WHOLE._replace(findings=()), "/q.db"), "ok", "too large to be checked in time", ""),
        (database.database(WHOLE._replace(findings=("row 7 is out of order",)), "/q.db"), "problem", "damaged: row 7", "slothtray restore"),
        (database.database(WHOLE._replace(version=LATEST + 1), "/q.db"), "problem", "newer slothtray", "install that version again"),
        (database.database(WHOLE._replace(mode=0o644), "/q db"), "warning", "mode 644", "chmod 600 '/q db'"),
        (database.database(WHOLE._replace(cut_short=True), "/q.db"), "warning", "cut short", "slothtray list"),
        (database.library(), "ok", "SQLite 3.", ""),
        (settings.config(Reading(None, {"nice": 5}, ""), "/c", exists=True), "ok", "valid, 1 key set", ""),
        (settings.config(Reading(None, {}, ""), "/c", exists=False), "ok", "not there yet", ""),
        (settings.config(Reading(None, {}, "config.toml, line 3: no"), "/a c", exists=True), "problem", "line 3", "$EDITOR '/a c'"),
        (clocks.clocks(Clocks(1.8e9, 7200.0, "x")), "ok", "2 h of this boot asleep", ""),
        (clocks.clocks(Clocks(1.0e9, 0.0, "x")), "warning", "2001-09", "sudo timedatectl set-ntp true"),
        (clocks.clocks(Clocks(1.8e9, 0.0, "")), "problem", "boot id", "mount /proc"),
        (clocks.sleep(Signals("", "", systemd=True)), "ok", "logind tells of it", ""),
        (clocks.sleep(Signals("no", "", systemd=False)), "ok", "within a minute", ""),
        (clocks.sleep(Signals("no", "", systemd=True)), "warning", "(no)", "systemctl status systemd-logind"),
        (gates.app(12, WHOLE, answers=True), "ok", "pid 12", ""),
        (gates.app(None, WHOLE, answers=False), "ok", "nothing waits", ""),
        (gates.app(None, WHOLE._replace(pending=3), answers=False), "warning", "3 wait", "slothtray run"),
    ],
)
def test_database_config_clocks_and_app(check, status, words, fix):
    judged(check, status, words, fix)


NOW = gates.Now(Instant(1_800_000_000.0, 500.0), "boot", 2.0, records=True)
CONFIG = defaults(1.5)


def test_the_load_is_told_as_the_gate_sees_it():
    assert gates.load(NOW, WHOLE, CONFIG).detail == "2.00, ceiling 1.50: a job would wait"
    own = WHOLE._replace(queue={"load_own": 1.0, "own_awake": 500.0, "own_boot": "boot"})
    assert gates.load(NOW, own, CONFIG).detail == "2.00, 1.00 of it our own, ceiling 1.50: a job would start"
    assert "a job would wait" in gates.load(NOW, own._replace(queue={**own.queue, "own_boot": "another"}), CONFIG).detail
    assert gates.load(NOW, WHOLE, CONFIG._replace(ceiling=None)).detail == "2.00; no ceiling is set"


def test_every_gate_has_its_present_answer():
    def said(health=WHOLE, now=NOW, *, answers=False):
        check = gates.gates(now, health, CONFIG, answers=answers)
        assert check.status == "ok"
        return check.detail

    assert said() == "storage: open; pause: open; settle: open; cooldown: open; load 2.00 > 1.50"
    until = time.strftime("%H:%M", time.localtime(1_800_000_060))
    assert f"paused until {until}" in said(WHOLE._replace(queue={"paused": 1, "paused_until": 1_800_000_060.0}))
    assert "pause: open" in said(WHOLE._replace(queue={"paused": 1, "paused_until": 1_700_000_000.0}))
    cooling = WHOLE._replace(queue={"gate": "cooldown", "reason": "cooldown: 3 s left"})
    assert "; cooldown: 3 s left; " in said(cooling, answers=True)
    assert "cooldown: open" in said(cooling)
    assert "storage: no run record can be made" in said(now=NOW._replace(records=False))


# --- the running of checks


def test_a_check_that_fails_hangs_or_is_refused_is_one_line_and_stops_no_other():
    hang = time.sleep

    def refused():
        raise Refused("it can't", "do that")

    checks = run(
        [
            Examination("first", lambda: Check("first", "ok", "")),
            Examination("broken", lambda: {}["no"]),
            Examination("hangs", lambda: hang(60), 0.2),
            Examination("refused", refused),
            Examination("two", lambda: [Check("two", "ok", "a"), Check("two", "ok", "b")]),
        ]
    )
    assert [(check.name, check.status) for check in checks] == [
        ("first", "ok"), ("broken", "warning"), ("hangs", "problem"), ("refused", "problem"), ("two", "ok"), ("two", "ok"),
    ]  # fmt: skip
    assert checks[1].detail == "this could not be looked at: KeyError: 'no'"
    assert checks[2].detail == "no answer within 0.2 s"
    assert (checks[3].detail, checks[3].fix) == ("it can't", "do that")

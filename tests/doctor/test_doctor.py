"""`slothtray doctor` on real parts: screens, buses, panels, folders and files, each in a state that it has to see."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import OBEDIENT, PROGRAM

sys.path.insert(0, str(Path(__file__).parent.parent / "tray"))

import desktop_session
from standin import Panel
from system.session import NOTIFICATIONS, StandIn, dunst, message_bus_in

NAMES = [
    "slothtray", "display", "bus", "panel", "tray", "notifications", "clipboard", "autostart", "headless", "linger", "folder",
    "filesystem", "lock", "space", "database", "sqlite", "config", "clocks", "sleep", "app", "load", "gates",
]  # fmt: skip


class Patient:
    """A queue folder, and what its doctor says."""

    def __init__(self, home, tmp_path):
        self.home = home
        home.environment.update(HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
        home.environment.pop("XDG_RUNTIME_DIR", None)
        home.environment.pop("XDG_CURRENT_DESKTOP", None)

    def doctor(self, *words, code=0, **environment):
        """All checks by name."""
        env = {**self.home.environment, **environment}
        answer = json.loads(self.home.run("doctor", "--json", *words, code=code, env=env).stdout)
        assert list(answer) == ["version", "checks"]
        for check in answer["checks"]:
            assert list(check) == ["name", "status", "detail", "fix"]
            assert check["status"] in ("ok", "warning", "problem")
        return {check["name"]: check for check in answer["checks"]}

    def not_well(self, *words, code=0, **environment):
        """The names of what is not well, with the status."""
        return {name: check["status"] for name, check in self.doctor(*words, code=code, **environment).items() if check["status"] != "ok"}


@pytest.fixture
def patient(home, tmp_path):
    return Patient(home, tmp_path)


@pytest.fixture
def desktop(tmp_path):
    with desktop_session.x_desktop(tmp_path) as desktop:
        yield desktop


def on(desktop):
    return {"DISPLAY": desktop.env["DISPLAY"], "DBUS_SESSION_BUS_ADDRESS": desktop.bus.address}


def everything(folder):
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*") if not path.name.endswith("-loadavg"))


def test_on_a_server_without_a_desktop_all_is_well_and_nothing_is_made(patient, tmp_path):
    before = everything(tmp_path)
    checks = patient.doctor()
    assert list(checks) == NAMES
    assert {name: check["status"] for name, check in checks.items() if check["status"] != "ok"} == {}
    assert everything(tmp_path) == before
    patient.home.run("doctor", "--home", code=2)


def test_of_a_queue_in_use_nothing_is_changed(patient, tmp_path):
    patient.home.add("true")
    before = everything(tmp_path)
    assert patient.not_well() == {"app": "warning"}
    assert everything(tmp_path) == before
    patient.home.start("--until-empty").wait()
    assert patient.not_well() == {}


def test_for_people_it_is_a_line_a_check_with_the_remedy_below(patient, tmp_path):
    patient.home.path.mkdir(mode=0o755)
    said = patient.home.run("doctor").stdout
    assert f"warning  folder         {patient.home.path}: others get in (mode 755)\n" in said
    assert f"mend it: chmod 700 {patient.home.path}\n" in said
    assert said.endswith("\n\n1 warning.\n")
    subprocess.run(["chmod", "700", patient.home.path], check=True)
    assert patient.home.run("doctor").stdout.endswith("\n\nAll is well.\n")


# --- the desktop


def test_on_a_whole_desktop_panel_and_service_are_named(patient, desktop, tmp_path):
    with Panel(desktop.bus), dunst(desktop.bus, desktop.env["DISPLAY"], tmp_path) as bubbles:
        checks = patient.doctor("--notify", **on(desktop))
        assert {name: check for name, check in checks.items() if check["status"] != "ok"} == {}
        assert f"pid {os.getpid()}" in checks["panel"]["detail"]
        assert checks["tray"]["detail"].startswith("sni: ")
        assert checks["notifications"]["detail"].startswith("dunst ")
        assert "actions" in checks["notifications"]["detail"]
        assert checks["clipboard"]["detail"] == "read by xclip"
        assert list(checks) == [*NAMES, "notification"]
        assert [bubble["summary"] for bubble in bubbles.history()] == ["slothtray"]


def test_an_empty_desktop_lacks_panel_and_service_and_is_told_what_to_install(patient, desktop):
    checks = patient.doctor("--notify", code=1, **on(desktop))
    assert {name for name, check in checks.items() if check["status"] == "problem"} == {"panel", "notifications", "notification"}
    assert "xfce4-panel, then start xfce4-panel" in checks["panel"]["fix"]
    assert "dunst" in checks["notifications"]["fix"]
    gnome = patient.doctor(code=1, XDG_CURRENT_DESKTOP="GNOME", **on(desktop))
    assert "gnome-shell-extension-appindicator" in gnome["panel"]["fix"]


def test_an_old_panel_will_do(patient, desktop, tmp_path):
    with desktop.trayer(), dunst(desktop.bus, desktop.env["DISPLAY"], tmp_path):
        checks = patient.doctor(**on(desktop))
    assert "XEmbed" in checks["panel"]["detail"]
    assert checks["tray"]["detail"].split(":")[0] in ("xembed", "gtk")


def test_a_display_that_is_gone_and_a_bus_that_is_gone_are_problems(patient, tmp_path):
    gone = {"DISPLAY": ":98765", "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/no-bus"}
    assert patient.not_well(code=1, **gone) == {"display": "problem", "bus": "problem"}


def test_a_bus_that_never_answers_costs_two_seconds_and_no_more(patient, tmp_path):
    with desktop_session.screen() as display, message_bus_in(tmp_path, answers=False) as bus:
        begun = time.monotonic()
        checks = patient.doctor(code=1, DISPLAY=display, DBUS_SESSION_BUS_ADDRESS=bus.address)
        assert time.monotonic() - begun < 10
    assert (checks["bus"]["status"], checks["bus"]["detail"]) == ("problem", "the session bus does not answer")
    assert checks["panel"]["status"] == "problem"
    assert checks["database"]["status"] == "ok"


def test_a_screen_that_hangs_holds_no_other_check_up(patient, desktop):
    with desktop.frozen_screen():
        checks = patient.doctor(code=1, **on(desktop))
    assert checks["panel"]["detail"] == "no answer within 5 s"
    assert (checks["bus"]["status"], checks["database"]["status"]) == ("ok", "ok")


# --- the queue


def test_a_damaged_database_is_found_and_restore_named(patient):
    patient.home.enqueue("true")
    path = patient.home.path / "queue.db"
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * 4096)
    before = path.read_bytes()
    check = patient.doctor(code=1)["database"]
    assert (check["status"], check["fix"]) == ("problem", "slothtray restore")
    assert path.read_bytes() == before
    path.write_bytes(b"garbage" * 1000)
    check = patient.doctor(code=1)["database"]
    assert check["status"] == "problem"
    assert "slothtray restore" in check["fix"]


def test_a_database_of_a_newer_version_is_a_problem(patient):
    patient.home.enqueue("true")
    with sqlite3.connect(patient.home.path / "queue.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    check = patient.doctor(code=1)["database"]
    assert (check["status"], check["fix"]) == ("problem", "install that version again")


def test_a_database_that_another_program_locks_is_told_and_waited_for_briefly(patient):
    patient.home.enqueue("true")
    connection = sqlite3.connect(patient.home.path / "queue.db", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    checks = patient.doctor(code=1)
    connection.close()
    assert "locked by another program" in checks["database"]["detail"]
    assert checks["database"]["fix"].startswith("end that one; its pid: fuser /")
    assert (checks["gates"]["status"], checks["app"]["detail"]) == ("ok", "none runs")


def test_a_write_that_was_cut_short_is_not_taken_for_damage(patient, tmp_path):
    patient.home.enqueue("true")
    path = patient.home.path / "queue.db"
    code = (
        f"import os, sqlite3; c = sqlite3.connect({str(path)!r}, isolation_level=None); c.execute('PRAGMA cache_size=1'); "
        "c.execute('PRAGMA cache_spill=1'); c.execute('BEGIN IMMEDIATE'); "
        "[c.execute('INSERT INTO events (job, at, kind, detail) VALUES (1, 0, ?, ?)', ('x', 'y' * 3000)) for _ in range(50)]; os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=30)
    assert (patient.home.path / "queue.db-journal").stat().st_size > 0
    check = patient.doctor()["database"]
    assert (check["status"], check["fix"]) == ("warning", "slothtray list")
    patient.home.run("list")
    assert patient.doctor()["database"]["status"] == "ok"


def test_a_folder_that_can_not_be_written_or_made_is_a_problem(patient, tmp_path):
    patient.home.path.mkdir(mode=0o500)
    done = subprocess.run(
        [*OBEDIENT, *PROGRAM, "doctor", "--json"], env=patient.home.environment, capture_output=True, text=True, timeout=60, check=False
    )
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, checks["folder"]["fix"]) == (1, f"chmod 700 {patient.home.path}")
    patient.home.path.rmdir()
    patient.home.path.write_text("a file")
    assert "is not a folder" in patient.doctor(code=1)["folder"]["detail"]


def test_a_config_that_can_not_be_meant_so_is_a_problem(patient):
    patient.home.path.mkdir(mode=0o700)
    (patient.home.path / "config.toml").write_text("ceiling = 'much'\n")
    check = patient.doctor(code=1)["config"]
    assert "config.toml, line 1" in check["detail"]
    assert check["fix"] == f"$EDITOR {patient.home.path}/config.toml"


def test_an_entry_whose_program_is_gone_is_a_problem_that_enable_mends(patient, tmp_path):
    patient.home.run("autostart", "enable")
    assert patient.doctor()["autostart"]["detail"].startswith("starts at login: ")
    entry = tmp_path / "config/autostart/slothtray.desktop"
    entry.write_text(entry.read_text().replace("Exec=/", "Exec=/gone/"))
    check = patient.doctor(code=1)["autostart"]
    assert (check["status"], check["fix"]) == ("problem", "slothtray autostart enable")


def test_the_app_and_its_gates_are_told(patient):
    patient.home.set_load(7.5)
    patient.home.start("--interval", "1s", ceiling="1.5")
    patient.home.run("pause")
    checks = patient.doctor()
    assert checks["app"]["detail"] == f"runs the queue (pid {patient.home.apps[0].process.pid})"
    assert checks["load"]["detail"].startswith("7.50, ceiling ")
    assert "; paused; " in checks["gates"]["detail"]


def test_a_notification_service_that_hangs_is_a_problem_and_holds_nothing_up(patient, desktop):
    with Panel(desktop.bus), StandIn(desktop.bus, NOTIFICATIONS, {"GetServerInformation": lambda *_: None}):
        check = patient.doctor(code=1, **on(desktop))["notifications"]
    assert (check["status"], check["detail"]) == ("problem", "the service does not answer")


def test_signals_of_sleep_are_looked_for_on_the_system_bus(patient, tmp_path):
    with message_bus_in(tmp_path) as bus:
        assert "logind tells of it" in patient.doctor(DBUS_SYSTEM_BUS_ADDRESS=bus.address)["sleep"]["detail"]
    check = patient.doctor(DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={tmp_path}/none")["sleep"]
    assert "no logind" in check["detail"] or "logind does not tell" in check["detail"]

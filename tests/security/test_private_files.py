"""Whose the queue's files are: modes under any umask, and traps in the place of files. Nothing is followed, nothing hangs."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from harness import OBEDIENT, PROGRAM, eventually

from slothtray import bell, private
from slothtray.cli.commands import app
from slothtray.paths import Paths
from slothtray.system import applog, folder, records
from slothtray.system.doorbell import Doorbell
from slothtray.system.launcher import Launcher, stderr_of

SPARE = "what is not ours\n"


def modes(path):
    """The mode of everything below a folder, and its own."""
    return {str(one.relative_to(path)): stat.S_IMODE(one.lstat().st_mode) for one in [path, *path.rglob("*")]}


# --- modes -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", ["0000", "0777"])
def test_everything_is_its_owners_alone_whatever_the_umask_is(tmp_path, homes, umask):
    home = homes()
    home.path = tmp_path / "above" / "it" / "queue"
    under = [*OBEDIENT, "sh", "-c", f'umask {umask}; exec "$@"', "sh"]
    # Python itself writes bytecode with that umask: not into the checkout.
    home.environment.update(SLOTHTRAY_HOME=str(home.path), PYTHONDONTWRITEBYTECODE="1")
    for words in (["add", "echo out"], ["config", "set", "nice", "5"]):
        subprocess.run([*under, *PROGRAM, *words], env=home.environment, cwd=home.work, check=True, capture_output=True)
    started = home.start(prefix=under)
    home.wait_for(1, "done")
    found = {name: mode for name, mode in modes(tmp_path / "above").items() if not name.endswith(".out")}  # the test's own
    started.stop()
    files = {name for name in found if (tmp_path / "above" / name).is_file()}
    assert {"queue.db", "queue.db-journal", "app.log", "config.toml", "runner.lock", "logs/1.log"} <= {name.removeprefix("it/queue/") for name in files}
    assert len([name for name in found if "/runs/1-" in name]) == 2
    assert "it/queue/bell" in found
    folders = {".", "it", "it/queue", *(f"it/queue/{name}" for name in ("runs", "logs", "backups"))}
    assert {name: oct(mode) for name, mode in found.items()} == {name: oct(0o700 if name in folders else 0o600) for name in found}


def test_older_folders_and_a_copied_database_that_others_may_use_are_taken_from_them_by_the_app(tmp_path):
    paths = Paths(str(tmp_path / "queue"))
    assert folder.prepare(paths) == ""
    for path in (paths.home, paths.runs, paths.logs, paths.backups):
        os.chmod(path, 0o777)
    for path in (paths.database, paths.database + "-journal", paths.config):
        Path(path).touch()
        os.chmod(path, 0o644)
    assert folder.prepare(paths) == ""
    found = {name: oct(mode) for name, mode in modes(tmp_path / "queue").items() if mode != 0o700}
    assert found == {"queue.db": "0o600", "queue.db-journal": "0o600", "config.toml": "0o644"}  # the config is the person's
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in (paths.home, paths.runs, paths.logs, paths.backups)} == {0o700}


@pytest.mark.parametrize(("mode", "told"), [(0o777, True), (0o775, True), (0o1777, True), (0o755, False)], ids=oct)
def test_a_folder_that_is_more_than_a_queue_keeps_its_mode_and_is_named(tmp_path, mode, told):
    paths = Paths(str(tmp_path))
    (tmp_path / "thesis.tex").touch()
    tmp_path.chmod(mode)
    problem = folder.prepare(paths)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode
    assert (f"others may write in the queue folder {tmp_path} (mode {mode:04o})" in problem) is told
    assert told or problem == ""


def test_a_sticky_folder_is_everybodys_and_keeps_its_mode_even_when_it_is_empty(tmp_path):
    tmp_path.chmod(0o1777)
    assert "others may write" in folder.prepare(Paths(str(tmp_path)))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def test_such_a_folder_is_told_of_in_the_terminal_in_the_list_and_in_the_apps_log(home):
    home.path.mkdir()
    (home.path / "thesis.tex").touch()
    home.path.chmod(0o777)
    started = home.start()
    eventually(lambda: "others may write" in started.said(), "it is told")
    assert "`chmod go-w` it" in (home.path / "app.log").read_text()
    eventually(lambda: "\nNote: others may write" in home.run("list").stdout, "the list tells it")


def test_a_log_that_others_may_read_is_taken_from_them_when_it_is_written_to(home):
    (home.path / "logs").mkdir(parents=True)
    (home.path / "logs" / "1.log").write_text("before\n")
    (home.path / "logs" / "1.log").chmod(0o666)
    home.add("echo after")
    home.start()
    home.wait_for(1, "done")
    assert home.log(1) == "before\nafter\n"
    assert stat.S_IMODE((home.path / "logs" / "1.log").stat().st_mode) == 0o600


# --- traps -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def spare(tmp_path):
    """A file that a link may lead to; it must stay as it is."""
    path = tmp_path / "spare"
    path.write_text(SPARE)
    yield path
    assert path.read_text() == SPARE


def plant(kind, path, spare):
    """Put a trap there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(spare if kind == "link" else spare.with_name("nowhere"))


TRAPS = {"link": "it is a symbolic link", "dangling": "it is a symbolic link", "pipe": "it is not a plain file", "folder": "s a directory"}
kinds = pytest.mark.parametrize("kind", TRAPS)


@kinds
@pytest.mark.parametrize("name", ["queue.db", "queue.db-journal"])
def test_a_trap_in_the_place_of_the_database_is_told_in_one_line(home, spare, kind, name):
    plant(kind, home.path / name, spare)
    for words in (["add", "true"], ["list"]):
        done = home.run(*words, code=4, timeout=20)
        assert done.stderr == f"slothtray: {home.path}/{name} can't be used: {reason(kind)}: choose another folder with --home DIR\n"
    assert not spare.with_name("nowhere").exists()


def reason(kind):
    return "Is a directory" if kind == "folder" else TRAPS[kind]


@kinds
@pytest.mark.parametrize("name", ["app.log", "runner.lock"])
def test_a_trap_in_the_place_of_a_file_of_the_apps_keeps_it_from_starting_in_one_line(home, spare, kind, name):
    plant(kind, home.path / name, spare)
    done = home.run("run", "--until-empty", code=4, timeout=20)
    assert done.stderr.count("\n") == 1
    assert f"{home.path}/{name}" in done.stderr
    assert reason(kind) in done.stderr
    assert not spare.with_name("nowhere").exists()


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_a_trap_in_the_place_of_the_bell_is_replaced_by_the_bell(home, spare, kind):
    plant(kind, home.path / "bell", spare)
    home.add("true")
    home.start()
    assert stat.S_ISSOCK((home.path / "bell").lstat().st_mode)
    home.wait_for(1, "done")


def test_a_folder_in_the_place_of_the_bell_is_one_line(home, spare):
    plant("folder", home.path / "bell", spare)
    done = home.run("run", "--until-empty", code=4)
    assert done.stderr == f"slothtray: {home.path}/bell can't be used: Is a directory: check its folder\n"


def test_a_link_to_another_bell_is_not_rung(tmp_path):
    other, ours = Paths(str(tmp_path / "other")), Paths(str(tmp_path / "ours"))
    for paths in (other, ours):
        folder.prepare(paths)
    doorbell = Doorbell(other)
    os.symlink(other.bell, ours.bell)
    assert [bell.ring(other), bell.answered(other), bell.ring(ours), bell.answered(ours)] == [True, True, False, False]
    doorbell.close()


def test_a_bell_is_reached_however_long_its_path_is(tmp_path):
    paths = Paths(str(tmp_path / ("long" * 50) / "queue"))
    folder.prepare(paths)
    doorbell = Doorbell(paths)
    assert bell.ring(paths)
    doorbell.close()
    assert not bell.ring(paths)


@kinds
def test_a_trap_in_the_place_of_a_log_fails_the_job_and_is_not_read_either(home, spare, kind):
    number = home.add("echo into the log")
    plant(kind, home.path / "logs" / f"{number}.log", spare)
    home.start()
    home.wait_for(number, "failed")
    assert home.row(number, "message").startswith(f"could not start: log {home.path}/logs/{number}.log: ")
    for words in (["log"], ["log", "-n", "2"], ["log", "-f"]):
        done = home.run(*words, str(number), code=4, timeout=20)
        assert done.stdout == ""
        assert done.stderr == f"slothtray: {home.path}/logs/{number}.log: {reason(kind)}\n"
    assert not spare.with_name("nowhere").exists()


def test_a_pipe_that_somebody_reads_is_no_log_either(home):
    number = home.add("echo secret")
    pipe = home.path / "logs" / f"{number}.log"
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    home.start()
    home.wait_for(number, "failed")
    assert os.read(reader, 100) == b""
    os.close(reader)


@kinds
def test_a_trap_in_the_place_of_a_log_is_not_opened_from_the_menu_either(tmp_path, spare, kind):
    paths = Paths(str(tmp_path / "queue"))
    for path, job in ((paths.log(1), 1), (paths.app_log, None)):
        plant(kind, Path(path), spare)
        with pytest.raises(private.Odd):
            app.open_log(paths, job, print)


@kinds
def test_a_trap_in_the_place_of_a_run_record_is_no_record(tmp_path, spare, kind):
    path = tmp_path / "runs" / "1-00000000"
    plant(kind, path, spare)
    assert records.open_for_look(str(path)) is None
    with pytest.raises(FileExistsError):
        records.create(str(path))


@kinds
def test_a_trap_in_the_place_of_a_supervisors_last_words_is_not_written_to(tmp_path, spare, kind):
    paths = Paths(str(tmp_path / "queue"))
    folder.prepare(paths)
    plant(kind, Path(paths.run_stderr("1-00000000")), spare)
    with pytest.raises(OSError, match=TRAPS[kind]):
        Launcher().launch(paths, "1-00000000", b"", lambda: None)
    assert stderr_of(paths, "1-00000000") == ""
    assert os.listdir(paths.runs) == ["1-00000000.err"]


def test_a_job_goes_on_when_its_record_becomes_a_pipe_and_its_app_is_killed(home):
    number = home.add("sleep 60")
    first = home.start()
    eventually(lambda: home.processes() and home.row(number) == "running", "it runs")
    run = home.path / "runs" / home.row(number, "run")
    eventually(lambda: b'"J"' in run.read_bytes(), "its pid is in the record")
    first.kill()
    run.unlink()
    os.mkfifo(run)
    home.start()
    # Its record is lost: it is swept by its cookie, as CASES 34 has it; never a second copy beside the first.
    home.wait_for(number, "held", "running")
    eventually(lambda: home.row(number) == "held" or "reclaimed" in home.kinds(number), "it was looked for")
    copies = [pid for pid in home.processes() if Path(f"/proc/{pid}/comm").read_text() == "sleep\n"]
    assert len(copies) <= 1


@kinds
def test_who_holds_the_folder_is_not_asked_of_a_trap(tmp_path, spare, kind):
    spare_lock = tmp_path / "lock"
    spare_lock.write_text("4711\n")
    paths = Paths(str(tmp_path / "queue"))
    plant(kind, Path(paths.lock), spare_lock if kind == "link" else spare)
    assert folder.holder_of(paths) is None


def test_the_apps_log_is_not_led_elsewhere_when_it_is_rotated(tmp_path, spare, monkeypatch):
    paths = Paths(str(tmp_path / "queue"))
    folder.prepare(paths)
    handler = applog._Private(paths.app_log, maxBytes=1000, backupCount=2, encoding="utf-8")
    (tmp_path / "queue" / "app.log.1").symlink_to(spare)
    handler.doRollover()
    handler.doRollover()
    handler.close()
    assert [Path(paths.app_log + end).is_symlink() for end in ("", ".1")] == [False, False]
    (tmp_path / "queue" / "app.log").unlink()
    (tmp_path / "queue" / "app.log").symlink_to(spare)
    with pytest.raises(OSError, match="it is a symbolic link"):
        applog._Private(paths.app_log, maxBytes=1000, backupCount=2, encoding="utf-8")


# --- what is meant --------------------------------------------------------------------------------------------------------------


def test_a_queue_folder_that_a_person_has_put_elsewhere_by_a_link_works(home, tmp_path):
    (tmp_path / "big-disk").mkdir(mode=0o700)
    home.path.symlink_to(tmp_path / "big-disk")
    number = home.add("echo there")
    home.start()
    home.wait_for(number, "done")
    assert (tmp_path / "big-disk" / "logs" / f"{number}.log").read_text() == "there\n"


def test_files_with_a_second_name_of_the_same_owner_are_used_as_backups_make_them(home, tmp_path):
    home.add("echo first")
    home.start()
    home.wait_for(1, "done")
    home.apps[0].stop()
    subprocess.run(["cp", "-al", home.path, tmp_path / "snapshot"], check=True)
    home.run("retry", "1")
    home.start()
    home.wait_for(1, "done")
    assert home.log(1).count("first") == 2


# --- private itself -------------------------------------------------------------------------------------------------------------


def test_a_device_is_no_file_either(tmp_path):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(private.Odd, match="it is not a plain file"):
            private.open_file("/dev/zero", flags)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
        with pytest.raises(private.Odd):
            private.open_file(str(tmp_path / "socket"), os.O_RDONLY)


def test_a_descriptor_of_a_refused_file_is_not_left_open():
    before = os.listdir("/proc/self/fd")
    with pytest.raises(private.Odd):
        private.open_file("/dev/null", os.O_RDONLY)
    assert os.listdir("/proc/self/fd") == before


def test_a_descriptor_of_ours_is_not_inherited(tmp_path):
    descriptor = private.open_file(str(tmp_path / "file"), os.O_WRONLY | os.O_CREAT)
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_many_programs_may_make_the_folder_at_once(tmp_path):
    code = f"from slothtray import private; private.make_folder({str(tmp_path / 'a' / 'b' / 'c')!r})"
    programs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(6)]
    assert [program.wait(30) for program in programs] == [0] * 6
    assert set(modes(tmp_path / "a").values()) == {0o700}


def test_a_file_or_a_dangling_link_in_the_folders_place_is_one_line(home, tmp_path):
    for make in (home.path.touch, lambda: home.path.symlink_to(tmp_path / "nowhere")):
        make()
        done = home.run("add", "true", code=4)
        assert done.stderr.startswith(f"slothtray: the queue folder {home.path} can't be used: ")
        assert done.stderr.count("\n") == 1
        home.path.unlink()

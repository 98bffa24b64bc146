"""What can't be meant, or can't be stored: one line on stderr, the right exit code, nothing stored, never a traceback."""

import json
import os
import stat
import subprocess

import pytest
from harness import OBEDIENT, PROGRAM


def stored(home):
    """How many jobs there are."""
    if not (home.path / "queue.db").exists() or (home.path / "queue.db").stat().st_size == 0:
        return 0
    with home.read() as connection:
        (count,) = connection.execute("SELECT count(*) FROM jobs").fetchone()
    connection.close()
    return count


def refuse(home, *words, code, **options):
    """Run a command that must be refused: its one line."""
    before = stored(home)
    done = home.run(*words, code=code, **options)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("slothtray: ")
    assert stored(home) == before
    return done.stderr


USAGE = [
    (["add", "--frobnicate", "true"], "--frobnicate"),
    (["add", "-x", "true"], "-x"),
    (["--frobnicate", "add", "true"], "--frobnicate"),
    (["ad", "true"], "did you mean `slothtray add`?"),
    (["addd", "true"], "did you mean `slothtray add`?"),
    (["lsit"], "did you mean `slothtray list`?"),
    (["kill", "1"], "did you mean `slothtray cancel`?"),
    (["follow", "1"], "did you mean `slothtray log -f`?"),
    (["qwertyuiop"], "slothtray --help"),
    (["add"], "the command is empty"),
    (["add", ""], "the command is empty"),
    (["add", "  \t\n "], "the command is empty"),
    (["add", "--"], "the command is empty"),
    (["add", "--", "", "x"], "the command is empty"),
    (["add", "-t", "0", "true"], "-t"),
    (["add", "-t", "-5", "true"], "negative"),
    (["add", "-t", "5 parsecs", "true"], "'5 parsecs' is not a duration"),
    (["add", "--max-runtime", "", "true"], "'' is not a duration"),
    (["add", "-t", "nan", "true"], "duration"),
    (["add", "-t", "1e999", "true"], "duration"),
    (["add", "-t", "999999w", "true"], "hundred years"),
    (["add", "-t"], "-t"),
    (["add", "-p", "99", "true"], "priority 99 is out of range"),
    (["add", "-p", "-21", "true"], "priority -21 is out of range"),
    (["add", "-p", "x", "true"], "'x' is not a whole number"),
    (["add", "-p", "1.5", "true"], "'1.5' is not a whole number"),
    (["add", "-p", "9" * 40, "true"], "too large"),
    (["add", "--attempts", "0", "true"], "0 attempts"),
    (["add", "--cwd", "/nowhere/at/all", "true"], "/nowhere/at/all is not a folder"),
    (["show", "one"], "'one' is not a job id"),
    (["show", "-1"], "-1"),
    (["show"], "needs ID"),
    (["cancel", "3-"], "'3-' is not a job id"),
    (["cancel"], "needs ID"),
    (["list", "--state", "sleeping"], "sleeping"),
    (["list", "extra"], "takes no 'extra'"),
    (["run", "--ceiling", "high"], "'high' is not a load ceiling"),
    (["run", "--interval", "never"], "duration"),
    (["wait", "--timeout", "soon", "1"], "duration"),
]


@pytest.mark.parametrize(("words", "told"), USAGE, ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "")
def test_what_cannot_be_meant_is_refused_with_2(home, words, told):
    assert told in refuse(home, *words, code=2)


def test_a_home_without_a_folder_is_refused_with_2(home):
    assert "--home" in refuse(home, "--home", code=2)


@pytest.mark.parametrize("command", ["show", "log", "cancel", "retry", "release", "wait", "why", "hold", "start"])
@pytest.mark.parametrize("number", ["7", "99999999999999"])
def test_an_unknown_id_is_refused_with_1(home, command, number):
    home.add("true")
    assert f"there is no job {number}" in refuse(home, command, number, code=1)


def test_the_known_ones_among_the_ids_are_done_and_the_others_told(home):
    first, second = home.add("true"), home.add("true")
    done = home.run("cancel", f"{first}-{second + 2}", code=1)
    assert [home.row(one) for one in (first, second)] == ["cancelled"] * 2
    assert [f"no job {one}" in done.stderr for one in (second + 1, second + 2)] == [True, True]
    assert done.stderr.count("\n") == 2


# --- bytes that no command can have --------------------------------------------------------------------------------------------


def test_a_nul_byte_on_standard_input_is_refused_and_none_of_the_lines_is_stored(home):
    done = subprocess.run(
        [*PROGRAM, "add", "-"], input=b"true\necho a\0b\nfalse\n", env=home.environment, cwd=home.work, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"NUL" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert stored(home) == 0


def test_any_other_bytes_arrive_as_they_were_given(home):
    odd = [b"/bin/echo", b"caf\xc3\xa9", b"\xff\xfe", b"a\nb", b"", b"\x1b[31m", b"--help"]
    done = subprocess.run([*map(os.fsencode, PROGRAM), b"add", b"--", *odd], env=home.environment, cwd=home.work, capture_output=True, check=True)
    home.start()
    assert home.wait_for(int(done.stdout), "done") == "done"
    assert (home.path / "logs" / "1").with_suffix(".log").read_bytes() == b" ".join(odd[1:]) + b"\n"


# --- folders that can't be used --------------------------------------------------------------------------------------------------


def test_a_folder_below_a_file_is_refused_with_4(home, tmp_path):
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "queue")
    for words in (["add", "true"], ["list"], ["run"]):
        assert f"queue folder {place} can't be used: Not a directory" in refuse(home, "--home", place, *words, code=4)


def as_one_who_may_not(home, *words):
    """Run a command with the rights that a file's mode gives, root or not."""
    prefix = OBEDIENT if os.geteuid() == 0 else []
    return subprocess.run(
        [*prefix, *PROGRAM, *words], env=home.environment, cwd=home.work, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("words", [["add", "true"], ["list"], ["run"], ["cancel", "1"], ["pause"]], ids=" ".join)
def test_a_folder_that_may_not_be_made_is_refused_with_4(home, tmp_path, words):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    done = as_one_who_may_not(home, "--home", str(closed / "queue"), *words)
    assert (done.returncode, done.stdout) == (4, "")
    assert "Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(closed.iterdir()) == []


def test_a_database_that_may_not_be_written_is_refused_with_4_and_keeps_its_jobs(home):
    home.add("true")
    (home.path / "queue.db").chmod(0o400)
    home.path.chmod(0o500)
    try:
        done = as_one_who_may_not(home, "add", "true")
    finally:
        home.path.chmod(0o700)
        (home.path / "queue.db").chmod(0o600)
    assert (done.returncode, done.stdout) == (4, "")
    assert str(home.path / "queue.db") in done.stderr
    assert done.stderr.count("\n") == 1
    assert stored(home) == 1


def test_a_database_that_is_a_folder_is_refused_with_4(home):
    (home.path / "queue.db").mkdir(parents=True)
    done = home.run("add", "true", code=4)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert str(home.path / "queue.db") in done.stderr


def test_what_is_made_is_private_under_any_umask(home):
    home.run("add", "true", preexec_fn=lambda: os.umask(0))
    home.start()
    home.wait_for(1, "done")
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in [home.path, *home.path.rglob("*")]}
    assert {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077 and not path.is_socket()} == {}


# --- for programs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["add", "--json", "-t", "0", "true"], 2, "usage"),
        (["add", "--json"], 2, "usage"),
        (["add", "--json", "--frobnicate", "true"], 2, "usage"),
        (["show", "7", "--json"], 1, "unknown-job"),
        (["list", "--json", "--state", "sleeping"], 2, "usage"),
        (["--home", "/dev/null/queue", "list", "--json"], 4, "storage"),
        (["--home", "/dev/null/queue", "add", "--json", "true"], 4, "storage"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_under_json_the_same_error_comes_in_an_envelope_on_stdout(home, words, code, name):
    done = home.run(*words, code=code)
    told = json.loads(done.stdout)
    assert set(told) == {"version", "error"}
    assert told["version"] == 1
    assert set(told["error"]) == {"code", "title", "message"}
    assert told["error"]["code"] == name
    assert told["error"]["title"]
    assert done.stderr == ""
    assert stored(home) == 0


def test_json_after_the_command_belongs_to_the_job_and_not_to_us(home):
    done = home.run("add", "-t", "0", "echo", "--json", code=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1

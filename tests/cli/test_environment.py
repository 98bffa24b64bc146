"""Which environment a job gets, what is kept out of it and of the file, and what else it is born with (DESIGN 9)."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray import environment

SESSION = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


# --- the rules, pure ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("API_TOKEN", "GITHUB_TOKEN", "TOKEN", "MY_SECRET", "SECRET_OF_APP", "DB_PASS", "PASSWD", "DB_PASSWORD", "GPG_PASSPHRASE"),
        *("SSHPASS", "DB_PWD", "SSH_KEY", "KEY", "OPENAI_API_KEY", "X_APIKEY", "AWS_CREDENTIAL", "CREDENTIALS", "GH_PAT"),
        *("aws_secret_access_key", "Api_Token", "_TOKEN_"),
    ],
)
def test_these_look_secret(name):
    assert environment.looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PWD", "OLDPWD", "PATH", "HOME", "KEYBOARD", "MONKEY", "PATTERN", "COMPASS", "PASSAGE", "TOKENS_LEFT", "SECRETARY"),
        *("VAULT_PASSWORD_FILE", "SSH_KEY_FILE", "GIT_PASS_COMMAND", "PASSWORD_COMMAND", "SSH_AUTH_SOCK", "XKEYSYMDB", ""),
    ],
)
def test_these_do_not(name):
    assert not environment.looks_secret(name)


NAMES = st.sampled_from([*SESSION, "PATH", "API_TOKEN", "DB_PASSWORD", "PASSWORD_FILE", "GPG_TTY", "TERM", "SSH_AUTH_SOCK", "FOO"])
ENVIRONMENTS = st.dictionaries(NAMES, st.text("ab/:", max_size=4))


@given(ENVIRONMENTS, st.sets(NAMES))
def test_a_captured_variable_is_kept_as_it_is_or_dropped_by_name_or_the_sessions(shell, keep):
    kept, dropped = environment.capture(shell, keep)
    assert all(shell[name] == value for name, value in kept.items())
    assert set(kept) | set(dropped) == set(shell) - set(SESSION)
    assert not set(kept) & set(dropped)
    assert dropped == sorted(dropped)
    assert {name for name in kept if environment.looks_secret(name)} <= keep
    assert all(environment.looks_secret(name) and name not in keep for name in dropped)


@given(st.none() | ENVIRONMENTS, ENVIRONMENTS, st.booleans())
def test_a_job_gets_what_was_captured_and_of_the_app_only_the_sessions_variables(captured, app, alive):
    own = {"SLOTHTRAY_JOB": "1"}
    job = environment.for_job(captured, app, lambda _: alive, own)
    base = app if captured is None else captured
    for name in SESSION:
        assert job.get(name) == base.get(name, app.get(name))
    agent = app.get("SSH_AUTH_SOCK")
    assert job.get("SSH_AUTH_SOCK") == (agent if agent and alive else base.get("SSH_AUTH_SOCK"))
    assert "GPG_TTY" not in job
    assert (job["TERM"], job["GIT_TERMINAL_PROMPT"], job["SLOTHTRAY_JOB"]) == ("dumb", "0", "1")
    rest = {name: value for name, value in job.items() if name not in (*SESSION, "SSH_AUTH_SOCK", "TERM", "GIT_TERMINAL_PROMPT", "SLOTHTRAY_JOB")}
    assert rest == {name: value for name, value in base.items() if name not in (*SESSION, "SSH_AUTH_SOCK", "TERM", "GPG_TTY")}


# --- through the real program -----------------------------------------------------------------------------------------------------


APP = {"SECRET_OF_APP": "1", "DISPLAY": ":77", "XDG_RUNTIME_DIR": "/run/app", "TERM": "xterm-app", "GPG_TTY": "/dev/pts/app"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A queue whose app has an environment of its own."""
    from harness import Home

    made = Home(tmp_path_factory.mktemp("environment") / "queue")
    made.environment.pop("SSH_AUTH_SOCK", None)
    made.start(environment=APP)
    yield made
    made.close()


def born_with(home, *options, command="env -0", **shell):
    """What a job that was added from such a shell finds: its variables."""
    number = home.add(*options, command, env={**home.environment, **shell})
    assert home.wait_for(number, "done", "failed") == "done"
    return dict(entry.split("=", 1) for entry in home.log(number).split("\0") if entry)


def test_a_job_has_its_shells_environment_not_the_apps_and_the_apps_session(home):
    job = born_with(home, FOO="b", EMPTY="", LINES_OF="a\nb", DISPLAY=":55", XDG_RUNTIME_DIR="/run/shell", WAYLAND_DISPLAY="wayland-9", TERM="xterm-shell")
    assert (job["FOO"], job["EMPTY"], job["LINES_OF"]) == ("b", "", "a\nb")
    assert "SECRET_OF_APP" not in job
    assert (job["DISPLAY"], job["XDG_RUNTIME_DIR"]) == (":77", "/run/app")
    assert "WAYLAND_DISPLAY" not in job


def test_a_job_is_told_that_nobody_is_there_to_answer(home):
    job = born_with(home, TERM="xterm-shell", GPG_TTY="/dev/pts/9", GIT_TERMINAL_PROMPT="1")
    assert (job["TERM"], job["GIT_TERMINAL_PROMPT"], "GPG_TTY" in job) == ("dumb", "0", False)
    number = home.add("readlink /proc/self/fd/0; cat; tty; nice; ps -o sid= -p $$; echo $$")
    home.wait_for(number, "done", "failed")
    stdin, tty, nice, session, pid = home.log(number).split("\n")[:5]
    assert (stdin, tty, nice) == ("/dev/null", "not a tty", "10")
    assert session.strip() == pid


def test_a_job_knows_its_number_its_run_and_which_attempt_it_is(home):
    number = home.add('echo "$SLOTHTRAY_JOB $SLOTHTRAY_RUN $SLOTHTRAY_ATTEMPT"')
    home.wait_for(number, "done", "failed")
    home.run("retry", str(number))
    home.wait_for(number, "done", "failed")
    first, _, second = (line.split() for line in home.log(number).splitlines())
    assert (first[0], first[2], second[0], second[2]) == (str(number), "1", str(number), "2")
    runs = {name for name in os.listdir(home.path / "runs") if name.startswith(f"{number}-") and not name.endswith(".err")}
    assert {first[1], second[1]} == runs


def test_what_looks_secret_is_in_no_file_of_the_queue_but_its_name_is_told(home):
    job = born_with(home, API_TOKEN="t0psecret", DB_PASSWORD="t0psecret", KEY_FILE="/path/of/key")
    assert not {"API_TOKEN", "DB_PASSWORD"} & set(job)
    assert job["KEY_FILE"] == "/path/of/key"
    number = home.row(1, "(SELECT max(id) FROM jobs)")
    assert "not passed on: API_TOKEN, DB_PASSWORD\n" in home.run("show", str(number)).stdout
    files = [path for path in home.path.rglob("*") if path.is_file()]
    assert home.path / "queue.db" in files
    assert [path.name for path in files if b"t0psecret" in path.read_bytes()] == []


def test_env_keeps_a_secret_by_its_name_or_sets_a_value(home):
    job = born_with(home, "--env", "API_TOKEN", "--env", "NEW=a=b", "--env", "EMPTY=", "--env=FOO=given", API_TOKEN="k3pt", DB_PASSWORD="no", FOO="shell")
    assert (job["API_TOKEN"], job["NEW"], job["EMPTY"], job["FOO"]) == ("k3pt", "a=b", "", "given")
    assert "DB_PASSWORD" not in job
    number = home.row(1, "(SELECT max(id) FROM jobs)")
    shown = home.run("show", str(number)).stdout
    assert "not passed on: DB_PASSWORD\n" in shown
    assert "k3pt" not in shown


def test_env_gives_a_session_variable_that_is_not_the_apps(home):
    job = born_with(home, "--env", "DISPLAY=:5", "--env", "XDG_RUNTIME_DIR", DISPLAY=":4", XDG_RUNTIME_DIR="/run/mine")
    assert (job["DISPLAY"], job["XDG_RUNTIME_DIR"]) == (":5", "/run/mine")


def test_any_bytes_survive_in_the_environment(home):
    assert born_with(home, ODD=os.fsdecode(b"\xff\xfe "))["ODD"] == os.fsdecode(b"\xff\xfe ")


def test_the_umask_is_the_shells(home):
    for mask in (0o027, 0o002):
        number = home.add("umask; touch made; stat -c %a made; rm made", preexec_fn=lambda mask=mask: os.umask(mask))
        home.wait_for(number, "done", "failed")
        assert home.log(number).split() == [f"0{mask:03o}", f"{0o666 & ~mask:o}"]


def test_the_agent_is_the_apps_while_it_lives_and_else_the_captured_one(homes, tmp_path):
    made = homes()
    path = str(tmp_path / "agent")
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(path)
        agent.listen()
        made.start(environment={"SSH_AUTH_SOCK": path})
        assert born_with(made, SSH_AUTH_SOCK="/captured/sock")["SSH_AUTH_SOCK"] == path
    assert born_with(made, SSH_AUTH_SOCK="/captured/sock")["SSH_AUTH_SOCK"] == "/captured/sock"


def test_without_an_agent_there_is_none(home):
    assert "SSH_AUTH_SOCK" not in born_with(home)


def test_a_folder_that_is_not_there_any_more_fails_with_that_reason(home):
    (home.work / "gone").mkdir()
    number = home.add("--hold", "true", cwd=home.work / "gone")
    (home.work / "gone").rmdir()
    home.run("release", str(number))
    assert home.wait_for(number, "failed", "done") == "failed"
    assert home.row(number, "message") == f"could not start: folder {home.work}/gone: No such file or directory"


def test_a_command_in_a_job_finds_the_jobs_own_queue_however_that_was_picked(home):
    elsewhere = {**home.environment, "SLOTHTRAY_HOME": "/nowhere"}
    number = int(home.run("--home", str(home.path), "add", 'echo "$SLOTHTRAY_HOME"', env=elsewhere).stdout)
    home.wait_for(number, "done", "failed")
    assert home.log(number) == f"{home.path}\n"

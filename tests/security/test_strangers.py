"""Other users of the machine, and folders of other users: nothing of a queue is theirs, and nothing of theirs becomes one."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import traceback
from pathlib import Path

import pytest
from harness import Home

from slothtray import bell
from slothtray.cli.main import main
from slothtray.paths import Paths
from slothtray.system import folder
from slothtray.system.doorbell import Doorbell

NOBODY, SOMEBODY = 65534, 65533

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")


def as_user(user, function, *words):
    """Call a function as another user, in a process of its own; what it returned, by way of JSON."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.write(writing, json.dumps(function(*words)).encode())
        except BaseException:
            os.write(writing, json.dumps(traceback.format_exc()).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(told)


def command(*words):
    """A command line: its exit code and what it said on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        return main(list(words)), said.getvalue()


@pytest.fixture
def public():
    """A folder that every user can reach."""
    path = Path(tempfile.mkdtemp(prefix="slothtray-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def queue(public):
    """A queue of ours with a job in it, whose bell hangs."""
    home = Home(public / "queue")
    home.add("true")
    folder.prepare(home.paths)
    doorbell = Doorbell(home.paths)
    assert bell.ring(home.paths)
    doorbell.drain()
    main(["--home", str(home.path), "list"])  # what the commands import is there for whoever may not read it
    home.doorbell = doorbell
    yield home
    doorbell.close()


def rung(doorbell):
    """Whether anything has come to the bell."""
    try:
        return doorbell._socket.recv(64) is not None
    except BlockingIOError:
        return False


def tries(home):
    """What a stranger may try: which of it worked."""
    paths, worked = Paths(home), []
    attempts = {
        "list": lambda: os.listdir(paths.home),
        "read": lambda: Path(paths.database).read_bytes(),
        "write": lambda: os.close(os.open(paths.database, os.O_WRONLY)),
        "log": lambda: Path(paths.app_log).read_bytes(),
        "plant": lambda: os.mkfifo(paths.log(1)),
        "lock": lambda: os.close(os.open(paths.lock, os.O_RDWR | os.O_CREAT)),
        "unlink": lambda: os.unlink(paths.bell),
        "ring": lambda: bell.ring(paths) or os.stat("/nowhere"),
        "answered": lambda: bell.answered(paths) or os.stat("/nowhere"),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        worked.append(name)
    return worked


def test_another_user_can_do_nothing_with_a_queue(queue):
    Path(queue.paths.app_log).touch(mode=0o600)
    assert as_user(NOBODY, tries, str(queue.path)) == []
    assert not rung(queue.doorbell)


def test_not_even_in_a_folder_that_was_opened_to_all(queue):
    """The mode of each file stands for itself: a `chmod -R`, or a queue that lies in a project's folder."""
    Path(queue.paths.app_log).touch(mode=0o600)
    queue.path.chmod(0o755)
    assert as_user(NOBODY, tries, str(queue.path)) == ["list"]
    assert not rung(queue.doorbell)


@pytest.mark.parametrize("words", [["list"], ["add", "touch stolen"], ["cancel", "1"], ["pause"]], ids=lambda words: words[0])
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_another_users_commands_end_with_4_and_one_line(queue, words, mode):
    queue.path.chmod(mode)
    code, said = as_user(NOBODY, command, "--home", str(queue.path), *words)
    assert (code, said.count("\n")) == (4, 1), said
    assert said.startswith(f"slothtray: the queue folder {queue.path} can't be used: ")
    assert ("it belongs to root (uid 0)" in said) or mode == 0o700
    assert queue.row(1, "count(*)") == 1
    assert queue.row(1) == "pending"


def test_a_folder_of_another_user_is_refused_also_where_everybody_may_write(public):
    home = Home(public / "theirs")
    home.path.mkdir()
    home.path.chmod(0o777)
    os.chown(home.path, NOBODY, NOBODY)
    code, said = as_user(SOMEBODY, command, "--home", str(home.path), "add", "true")
    assert code == 4
    assert said == f"slothtray: the queue folder {home.path} can't be used: it belongs to nobody (uid {NOBODY}): choose another with --home DIR\n"
    assert os.listdir(home.path) == []


def test_root_may_look_into_another_users_queue_but_runs_nothing_of_it(public):
    home = Home(public / "theirs")
    home.add("touch as-root")
    for path in (home.path, *home.path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    assert "touch as-root" in home.run("list").stdout
    done = home.run("run", "--until-empty", code=4)
    assert done.stderr.count("\n") == 1
    assert f"it belongs to nobody (uid {NOBODY}), and jobs would run as root (uid 0)" in done.stderr
    assert home.row(1) == "pending"


def test_a_second_name_for_another_users_file_is_no_log(home, tmp_path):
    """Only somebody who may write in `logs` can make one: for root's queue in a folder of a service, say."""
    theirs = tmp_path / "theirs"
    theirs.write_text("precious\n")
    os.chown(theirs, NOBODY, NOBODY)
    number = home.add("echo over it")
    (home.path / "logs").mkdir()
    os.link(theirs, home.path / "logs" / f"{number}.log")
    home.start()
    home.wait_for(number, "failed")
    assert "is not a plain file of ours" in home.row(number, "message")
    assert theirs.read_text() == "precious\n"

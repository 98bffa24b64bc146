"""The supervisor by itself: what it makes of a spec, of an end, of a signal, and what it leaves in the run record."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from harness import command_line, eventually, identity

from slothtray import supervisor
from slothtray.system import records

PROGRAM = Path(supervisor.__file__)


class Supervised:
    """One attempt in a folder of its own. Its processes are known by that folder."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "record"
        descriptor = records.create(str(self.path))
        command = [sys.executable, "-I", "-S", "-B", str(PROGRAM), str(descriptor)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(command, pass_fds=[descriptor], cwd="/", start_new_session=True, env={}, **pipes)
        os.close(descriptor)
        self.look = records.open_for_look(str(self.path))

    def spec(self, command, **fields):
        """The spec for a shell command, or for argv."""
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else command
        plain = {"version": 1, "argv": argv, "env": {"PATH": os.environ["PATH"]}, "cwd": str(self.folder), "umask": 0o77, "nice": 0}
        plain.update(log=str(self.folder / "log"), header="", max_runtime=None, grace=0.3, boot="this-boot")
        return json.dumps({**plain, **fields}).encode() + b"\n"

    def send(self, line):
        """Send all of the spec there will be."""
        self.process.stdin.write(line)
        self.process.stdin.close()
        return self

    def start(self, command, **fields):
        """Send the spec and wait until the job's pid is in the record."""
        self.send(self.spec(command, **fields))
        eventually(lambda: self.record.process, "the job is in the record")
        return self

    @property
    def record(self):
        """What the record says so far."""
        return records.read(self.look)

    def end(self):
        """Wait for its end: the result."""
        self.process.wait(20)
        assert not records.is_locked(self.look)
        return self.record.result

    def job_ready(self, name="ready"):
        """Wait until the job has made that file."""
        eventually((self.folder / name).exists, f"the job has made {name}")

    def alive(self):
        """What lives of its job."""
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(self.folder) and identity(int(name)):
                    found.append(int(name))
            except OSError:
                continue
        return found

    def log(self):
        return (self.folder / "log").read_text()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                stream.close()
        os.close(self.look)
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def attempt(tmp_path):
    made = Supervised(tmp_path)
    yield made
    made.close()


def open_files(pid):
    """The files that a process has open, by descriptor."""
    with suppress(FileNotFoundError):  # one that was closed while we looked
        return {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}


def handles(pid, number):
    """Whether a process has a handler of its own for a signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


# --- the spec --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["nothing", "half", "all but the end of the line"])
def test_a_spec_that_is_cut_short_starts_nothing_and_writes_nothing(attempt, cut):
    line = attempt.spec("touch ran")
    attempt.send({"nothing": b"", "half": line[: len(line) // 2], "all but the end of the line": line[:-1]}[cut])
    assert attempt.process.wait(20) == 1
    assert attempt.record == records.EMPTY
    assert not records.is_locked(attempt.look)
    assert not (attempt.folder / "ran").exists()
    assert attempt.process.stderr.read() == b""


def test_a_spec_of_another_version_starts_nothing(attempt):
    attempt.send(attempt.spec("touch ran", version=2))
    assert attempt.process.wait(20) == 1
    assert attempt.record == records.EMPTY
    assert not (attempt.folder / "ran").exists()


def test_without_a_record_to_write_into_nothing_starts(tmp_path):
    (tmp_path / "record").touch()
    descriptor = os.open(tmp_path / "record", os.O_RDONLY)
    line = json.dumps({"version": 1, "argv": ["/usr/bin/touch", str(tmp_path / "ran")], "boot": "b"}).encode() + b"\n"
    command = [sys.executable, "-I", "-S", str(PROGRAM), str(descriptor)]
    done = subprocess.run(command, pass_fds=[descriptor], input=line, capture_output=True, check=False, timeout=20)
    os.close(descriptor)
    assert done.returncode not in (0, None)
    assert b"Bad file descriptor" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_the_job_has_no_descriptor_no_mask_and_no_ignored_signal_of_its_supervisors(attempt):
    attempt.start(["/bin/sleep", "100"])
    pid = attempt.record.process.pid
    eventually(lambda: command_line(pid) == "/bin/sleep 100", "it is the job's program")
    log = str(attempt.folder / "log")
    # Eventually: the loader of a program has its libraries open for a moment.
    eventually(lambda: open_files(pid) == {"0": "/dev/null", "1": log, "2": log}, "nothing else is open")
    status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Sig"))
    assert [int(status[name], 16) for name in ("SigBlk", "SigIgn", "SigCgt")] == [0, 0, 0]


# --- the record ------------------------------------------------------------------------------------------------------------------


def test_the_record_is_lines_from_its_first_byte_in_a_page_that_is_there_from_the_start(attempt):
    assert attempt.path.read_bytes() == bytes(4096)
    attempt.start("exit 3")
    attempt.end()
    data = attempt.path.read_bytes()
    assert len(data) == 4096
    text = data.rstrip(b"\0")
    assert b"\0" not in text
    assert text.endswith(b"\n")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["k"] for line in lines] == ["S", "J", "X"]
    assert lines[0]["pid"] == attempt.process.pid
    assert lines[0]["boot"] == "this-boot"
    assert lines[0]["cgroup"] == own_cgroup()


def own_cgroup():
    return next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))


def test_the_longest_reason_leaves_room_in_the_page(attempt):
    attempt.send(attempt.spec(["/" + "\x01" * 3000]))
    ended = attempt.end()
    assert ended.why == "exec"
    assert len(ended.error) <= 1000
    assert len(attempt.path.read_bytes()) == 4096


def test_start_and_job_are_in_the_record_while_the_job_runs_and_the_result_after_it(attempt):
    attempt.start("touch ready; sleep 100")
    attempt.job_ready()
    record = attempt.record
    assert (record.started.pid, record.started.start) == (attempt.process.pid, int(identity(attempt.process.pid)[1]))
    assert (record.process.pid, record.process.start) == (record.process.pid, int(identity(record.process.pid)[1]))
    assert os.getsid(record.process.pid) == os.getpgid(record.process.pid) == record.process.pid
    assert record.result is None
    assert records.is_locked(attempt.look)
    attempt.process.send_signal(signal.SIGUSR1)
    assert attempt.end().why == "cancel"


def test_the_end_of_its_output_says_that_the_job_is_in_the_record(attempt):
    attempt.send(attempt.spec("until [ -e go ]; do sleep 0.02; done"))
    assert attempt.process.stdout.read() == b""  # comes back while the job runs
    assert attempt.record.process is not None
    assert attempt.record.result is None
    (attempt.folder / "go").touch()
    assert attempt.end().code == 0


def test_a_line_that_is_cut_short_or_garbage_counts_for_nothing():
    good = b'{"k":"S","pid":7,"start":8,"boot":"b","cgroup":"","at":1.5}\n'
    assert records.parse(b"").started is None
    assert records.parse(good[:-1]).started is None
    for other in (b"garbage\n", b"{}\n", b"[]\n", b'{"k":"S"}\n', b'{"k":"J","pid":"7","start":1}\n', b"\xff\xfe\n", b'{"k":"Z"}\n'):
        record = records.parse(other + good + other)
        assert (record.started.pid, record.process, record.result) == (7, None, None)
    assert records.parse(good + b"\0" + b'{"k":"J","pid":7,"start":1}\n').process is None


# --- how it ends -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "number"), [("exit 0", 0, None), ("exit 255", 255, None), ("kill -9 $$", None, 9), ("kill -TERM $$", None, 15)]
)
def test_exit_code_and_signal_are_told_apart(attempt, command, code, number):
    attempt.start(command)
    ended = attempt.end()
    assert (ended.why, ended.code, ended.signal, ended.error) == ("exit", code, number, "")


def not_executable(folder):
    (folder / "plain").write_text("echo hello\n")
    return [str(folder / "plain")], {}, f"{folder}/plain: Permission denied"


def no_interpreter(folder):
    (folder / "script").write_text("#!/nowhere/interpreter\n")
    (folder / "script").chmod(0o700)
    return [str(folder / "script")], {}, f"{folder}/script: No such file or directory"


@pytest.mark.parametrize(
    "what",
    [
        lambda _: (["/nowhere/prog"], {}, "/nowhere/prog: No such file or directory"),
        lambda _: (["nosuchprogram"], {}, "nosuchprogram: No such file or directory"),
        lambda _: (["/bin/true"], {"cwd": "/nowhere"}, "folder /nowhere: No such file or directory"),
        lambda folder: (["/bin/true"], {"log": f"{folder}/none/log"}, "log: No such file or directory"),
        lambda folder: (["/bin/true"], {"log": str(folder)}, "log: Is a directory"),
        lambda _: (["/bin/echo", "x" * 200_000], {}, "/bin/echo: Argument list too long"),
        not_executable,
        no_interpreter,
    ],
    ids=["no file", "not in PATH", "no folder", "no log folder", "log is a folder", "too long", "not executable", "no interpreter"],
)
def test_what_cannot_be_started_says_what_and_why(attempt, what):
    argv, fields, words = what(attempt.folder)
    attempt.send(attempt.spec(argv, **fields))
    ended = attempt.end()
    assert (ended.why, ended.code, ended.signal, ended.error) == ("exec", None, None, words)


def test_a_log_that_is_a_link_is_not_written_through(attempt):
    (attempt.folder / "precious").write_text("precious")
    (attempt.folder / "log").symlink_to(attempt.folder / "precious")
    attempt.send(attempt.spec("echo hello"))
    assert attempt.end().why == "exec"
    assert (attempt.folder / "precious").read_text() == "precious"


def test_output_goes_to_the_log_both_streams_and_after_what_was_there(attempt):
    (attempt.folder / "log").write_text("before\n")
    attempt.start("echo out; echo err >&2", header="--- attempt 2 ---\n")
    assert attempt.end().code == 0
    assert attempt.log() == "before\n--- attempt 2 ---\nout\nerr\n"


def test_umask_folder_and_priority_are_those_of_the_spec(attempt):
    (attempt.folder / "below").mkdir()
    attempt.start("umask > said; pwd >> said; nice >> said", umask=0o27, cwd=str(attempt.folder / "below"), nice=7)
    attempt.end()
    assert (attempt.folder / "below" / "said").read_text() == f"0027\n{attempt.folder}/below\n{min(os.nice(0) + 7, 19)}\n"


def test_a_good_end_leaves_daemons_alive_counts_them_and_frees_the_lock(attempt):
    attempt.start("sleep 300 & setsid sleep 301 & exit 0")
    ended = attempt.end()
    assert (ended.why, ended.code, ended.left) == ("exit", 0, 2)
    eventually(lambda: sorted(map(command_line, attempt.alive())) == ["sleep 300", "sleep 301"], "both live")


def test_a_failure_ends_what_the_job_left_before_the_result_is_written(attempt):
    attempt.start('sleep 300 & (trap "" TERM; touch ready; sleep 301) & until [ -e ready ]; do sleep 0.01; done; exit 3')
    ended = attempt.end()
    assert (ended.why, ended.code, ended.left) == ("exit", 3, 0)
    assert attempt.alive() == []


# --- limits ----------------------------------------------------------------------------------------------------------------------

TREE = r"""
sleep 501 & (trap "" TERM; exec sleep 502) & setsid sleep 503 &
sh -c 'sh -c "sleep 511 & (trap \"\" TERM; exec sleep 512) & setsid sleep 513 & wait" & wait' &
(setsid sh -c '(trap "" TERM; exec sleep 532) & exec sleep 531' &)
sh -c 'kill -STOP $$' &
touch ready; wait
"""


def whole_tree(attempt):
    return len([pid for pid in attempt.alive() if command_line(pid).startswith("sleep 5")]) == 8


@pytest.mark.parametrize("way", ["limit", "cancel", "session end"])
def test_the_whole_tree_is_ended_stubborn_stopped_and_distant_ones_too(attempt, way):
    attempt.start(TREE, max_runtime=1.0 if way == "limit" else None)
    eventually(lambda: whole_tree(attempt), "the tree is there")
    if way != "limit":
        attempt.process.send_signal(signal.SIGUSR1 if way == "cancel" else signal.SIGTERM)
    ended = attempt.end()
    assert ended.why == {"limit": "timeout", "cancel": "cancel", "session end": "interrupted"}[way]
    assert attempt.alive() == []


def test_a_job_may_use_its_grace_to_end_well_and_still_counts_as_timed_out(attempt):
    attempt.start('trap "sleep 0.5; echo tidy; exit 0" TERM; touch ready; sleep 100 & wait', max_runtime=0.3, grace=20)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("timeout", 0)
    assert attempt.log() == "tidy\n"


def test_a_stopped_job_hears_its_end(attempt):
    attempt.start('trap "echo heard; exit 5" TERM; touch ready; kill -STOP $$; sleep 100', max_runtime=0.5, grace=20)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("timeout", 5)
    assert attempt.log() == "heard\n"


def test_a_freeze_of_all_does_not_count_towards_the_limit(attempt):
    attempt.start("touch ready; until [ -e go ]; do sleep 0.02; done; sleep 0.3", max_runtime=1.5)
    attempt.job_ready()
    group = [attempt.process.pid, attempt.record.process.pid]
    for pid in group:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2.8)  # more than the limit and what a late wake-up is allowed: the time itself is what is asked about
    (attempt.folder / "go").touch()
    for pid in group:
        os.kill(pid, signal.SIGCONT)
    assert attempt.end().why == "exit"


def test_without_a_limit_there_is_none(attempt):
    attempt.start("sleep 0.3; exit 0", max_runtime=None)
    assert attempt.end().why == "exit"


# --- signals ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_session_before_the_start_starts_nothing(attempt, number):
    eventually(lambda: handles(attempt.process.pid, signal.SIGCHLD), "it has its handlers")
    attempt.process.send_signal(number)
    attempt.send(attempt.spec("touch ran"))
    assert attempt.process.wait(20) == 1
    assert attempt.record == records.EMPTY
    assert not (attempt.folder / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_session_interrupts_the_job(attempt, number):
    attempt.start("touch ready; sleep 100")
    attempt.job_ready()
    attempt.process.send_signal(number)
    assert attempt.end().why == "interrupted"
    assert attempt.alive() == []


def test_a_job_that_was_told_to_end_just_before_its_supervisor_is_interrupted_not_failed(attempt):
    attempt.start("touch ready; sleep 100 & wait; exit 1")
    attempt.job_ready()
    for pid in attempt.alive():
        os.kill(pid, signal.SIGTERM)
    eventually(lambda: not attempt.alive(), "the job has ended")
    assert attempt.record.result is None
    attempt.process.send_signal(signal.SIGTERM)
    assert attempt.end().why == "interrupted"


def test_a_job_that_ended_well_before_the_session_did_is_done(attempt):
    attempt.start("touch ready; until [ -e go ]; do sleep 0.02; done")
    attempt.job_ready()
    os.kill(attempt.process.pid, signal.SIGSTOP)
    (attempt.folder / "go").touch()
    eventually(lambda: not attempt.alive(), "the job has ended")
    os.kill(attempt.process.pid, signal.SIGTERM)
    os.kill(attempt.process.pid, signal.SIGCONT)
    ended = attempt.end()
    assert (ended.why, ended.code) == ("exit", 0)


def test_a_cancel_before_the_job_is_there_finds_it_when_it_is(attempt):
    eventually(lambda: handles(attempt.process.pid, signal.SIGCHLD), "it has its handlers")
    attempt.process.send_signal(signal.SIGUSR1)
    attempt.send(attempt.spec("sleep 100"))
    assert attempt.end().why == "cancel"
    assert attempt.alive() == []


def test_the_first_reason_to_end_is_the_one_that_counts(attempt):
    attempt.start('trap "touch told" TERM; touch ready; while :; do sleep 0.05; done', max_runtime=0.3, grace=1.0)
    attempt.job_ready("told")
    attempt.process.send_signal(signal.SIGUSR1)
    attempt.process.send_signal(signal.SIGTERM)
    assert attempt.end().why == "timeout"


def test_a_killed_supervisor_takes_its_job_along_and_leaves_no_result(attempt):
    attempt.start("touch ready; exec sleep 100")
    attempt.job_ready()
    attempt.process.kill()
    assert attempt.end() is None
    assert attempt.record.process is not None
    eventually(lambda: not attempt.alive(), "the job is dead too")

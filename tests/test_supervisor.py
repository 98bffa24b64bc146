"""The supervisor by itself: what it makes of a spec and of an end, and what it leaves in the run record."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import command_line, eventually, identity
from supervised import PROGRAM, open_files

from slothtray import supervisor
from slothtray.system import records

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


def test_a_log_that_is_emptied_under_a_job_has_what_comes_next_from_its_beginning(attempt):
    attempt.start("echo before; : > log; echo after")
    assert attempt.end().code == 0
    assert (attempt.folder / "log").read_bytes() == b"after\n"


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


def test_the_page_has_room_for_the_longest_of_every_line(tmp_path):
    descriptor = os.open(tmp_path / "record", os.O_RDWR | os.O_CREAT)
    record, pid, text = supervisor.Record(descriptor), 2**22, "x" * (supervisor.TEXT_BYTES - 2)
    record.line("S", pid=pid, start=10**12, boot="8" * 36, cgroup=text, at=time.time())
    record.line("J", pid=pid, start=10**12)
    for number in range(supervisor.UNKILLABLE_LINES):
        record.line("K", pids=[pid - number] * supervisor.UNKILLABLE_TOLD)
    record.line("X", why="interrupted", code=None, signal=64, error=text, left=pid, ran=1e8 / 3, at=time.time())
    assert os.fstat(descriptor).st_size <= records.PAGE
    assert records.read(descriptor).unkillable == (pid - supervisor.UNKILLABLE_LINES + 1,) * supervisor.UNKILLABLE_TOLD
    os.close(descriptor)


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
        lambda folder: (["/bin/true"], {"log": f"{folder}/none/log"}, f"log {folder}/none/log: No such file or directory"),
        lambda folder: (["/bin/true"], {"log": str(folder)}, f"log {folder}: Is a directory"),
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

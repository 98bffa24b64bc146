"""One supervisor by itself, without an app: for tests of what it makes of a spec, of an end, of a signal."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from harness import eventually, identity

from slothtray import supervisor
from slothtray.system import records

PROGRAM = Path(supervisor.__file__)


class Supervised:
    """One attempt in a folder of its own. Its processes are known by that folder."""

    def __init__(self, folder, program=PROGRAM):
        self.folder = folder
        self.path = folder / "record"
        descriptor = records.create(str(self.path))
        command = [sys.executable, "-I", "-S", "-B", str(program), str(descriptor)]
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

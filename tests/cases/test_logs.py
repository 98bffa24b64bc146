"""Output of any kind and any size: all of it is shown, and looking at it costs no memory (case 14)."""

import os
import subprocess
import sys

from slothtray.runner.telling import last_output
from slothtray.system import logcap

SIZE = 300_000_000
LINE = "forty characters in each of these lines."
MEASURED = """
import re, sys
from slothtray.__main__ import main
main()
with open("/proc/self/status") as status:
    print(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1], file=sys.stderr)
"""
"""Not ru_maxrss: that of the process which started it, here pytest, is carried over an exec."""


def measured(home, *words):
    """How many bytes and lines a command prints, the last of them, and its peak of memory in kB."""
    command = [sys.executable, "-c", MEASURED, *words]
    with subprocess.Popen(command, env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        size = lines = 0
        last = b""
        while piece := process.stdout.read(1 << 20):
            size, lines, last = size + len(piece), lines + piece.count(b"\n"), piece[-100:]
        peak = int(process.stderr.read())
    assert process.returncode == 0
    return size, lines, last, peak


def test_case_14_300_megabytes_are_all_shown_in_flat_memory(home):
    home.path.mkdir()
    (home.path / "config.toml").write_text('log_cap = "1GB"\n')
    number = home.add(f"yes '{LINE}' | head -n {SIZE // 41}; echo the end")
    home.start()
    assert home.wait_for(number, "done", limit=60) == "done"
    size, lines, last, peak = measured(home, "log", str(number))
    assert (size, lines) == (SIZE // 41 * 41 + 8, SIZE // 41 + 1)
    assert last.endswith(b"lines.\nthe end\n")
    _, _, small, base = measured(home, "log", "-n", "1", str(number))
    assert small == b"the end\n"
    assert peak < base + 8000
    assert measured(home, "log", "-n", "100000", str(number))[3] < base + 8000
    assert base < 64_000


def test_the_last_lines_in_a_notification_tell_of_a_cut_among_them(tmp_path, monkeypatch):
    def no_hole(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(logcap, "punch", no_hole)
    path = str(tmp_path / "1.log")
    with open(path, "wb") as file:
        file.write(b"x" * 90 + b"\n" * 200_000 + b"the end\n")
    assert logcap.trim(path, 100_000)
    told = last_output(path)
    assert told == ("the end",)
    with open(path, "rb+") as file:
        os.ftruncate(file.fileno(), 1 << 15)  # as when nothing was written after it
    assert "bytes cut out here" in last_output(path)[-1]

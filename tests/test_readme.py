"""What the README shows is what happens: every command in it runs, and prints what it says there but for times and folders."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
DURATION = r"\d+(\.\d+)? (s|min|h|d)\b( \d+ (s|min|h)\b)?"
TOGETHER = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
VARIES = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT"),
    (r"\b\d\d:\d\d\b", "TIME"),
    (rf"just now|{DURATION} ago", "AGO"),
    (rf"(took|for|in) {DURATION}", r"\1 WHILE"),
    (r"/\S*", "PATH"),
    (r" +", " "),
)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def steps(block):
    """(command, what is shown below it) of a console block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in found]


def plain(text):
    for pattern, stands_for in VARIES:
        text = re.sub(pattern, stands_for, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_every_command_shown_runs_and_prints_what_is_shown(home, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "slothtray").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slothtray "$@"\n')
    (programs / "slothtray").chmod(0o700)
    environment = {**home.environment, "PATH": f"{programs}:{home.environment['PATH']}", "COLUMNS": "100", "TZ": "UTC"}
    environment.update(HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"), XDG_CURRENT_DESKTOP="")
    home.run("list")
    home.start("--interval", "1s", ceiling="1.5", cooldown="0.2s")
    shown = [step for block in blocks("console") for step in steps(block)]
    assert len(shown) > 20
    for command, expected in shown:
        done = subprocess.run(
            ["bash", "-c", command], cwd=home.work, env=environment, text=True, timeout=60, check=False, **TOGETHER
        )
        assert done.returncode == 0, (command, done.stdout)
        if not command.startswith("slothtray list --state"):
            assert plain(done.stdout) == plain(expected), command


def test_the_library_shown_works(tmp_path):
    for block in blocks("python"):
        subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.parametrize("command", [line for block in blocks("sh") for line in block.splitlines()])
def test_the_two_commands_name_what_dev_py_knows(command):
    words = command.split()
    assert words[:2] == ["python3", "packaging/dev.py"]
    helped = subprocess.run([sys.executable, *words[1:2], "--help"], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert f"  {words[2]} " in helped.stdout

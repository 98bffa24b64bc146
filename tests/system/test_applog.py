"""The app's own log: it takes part in no disk that fills up, and the newest lines are the ones that are kept."""

import stat
import subprocess
import sys

from harness import PROGRAM

LINES, SIZE = 500, 4000
TALKATIVE = f"""
import logging, sys
from slothtray.paths import Paths
from slothtray.system import applog
applog.SIZE = {SIZE}
applog.set_up(Paths(sys.argv[1]))
for number in range({LINES}):
    logging.getLogger("slothtray.test").info("line %d\\nof a job called \\x1b[31m", number)
"""


def test_the_apps_log_is_rotated_and_two_old_ones_are_kept_with_the_newest_lines(home):
    home.path.mkdir(mode=0o700)
    subprocess.run([sys.executable, "-c", TALKATIVE, str(home.path)], check=True)
    files = sorted(home.path.glob("app.log*"), reverse=True)
    assert [file.name for file in files] == ["app.log.2", "app.log.1", "app.log"]
    assert all(0 < file.stat().st_size <= SIZE for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    lines = "".join(file.read_text() for file in files).splitlines()
    numbers = [int(line.split("line ")[1].split()[0].rstrip("↵")) for line in lines]
    assert numbers == list(range(LINES - len(lines), LINES))  # one line each, in order, none lost but the oldest
    last = subprocess.run([*PROGRAM, "log", "-n", "1"], env=home.environment, capture_output=True, text=True, check=True).stdout
    assert f"line {LINES - 1}" in last

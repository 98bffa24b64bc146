"""The demo shows what it says: four jobs behind a ceiling, their order, their waits, their ends."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[1] / "packaging" / "demo.py"


def test_the_demo_waits_for_the_load_then_shows_order_limit_retry_and_logs():
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.partition(" ")[2] for line in done.stdout.splitlines()]
    assert "waiting: load 2.91 > 1.50" in lines[lines.index("job 4 started: echo first") - 1]
    happened = [words for words in lines if words.startswith("job ") and not words.startswith("job 4: ")]
    assert [words for words in happened if " started" not in words] == [
        "job 4 done: ok",
        "job 1 done: ok",
        "job 2 failed: timed out after 1 s",
        "job 3 retry: exit 3; again in 2 s",
        "job 3 done: ok",
    ]
    assert "--- log of job 2\nstarted\n" in done.stdout
    assert "oops\n--- attempt 2, " in done.stdout

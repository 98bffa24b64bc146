"""Thousands of jobs are queued at the price of the first one, and no process waits for each (case 25)."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import Home

from slothtray.store import Queue

ADDS, COUNTED, COMMANDS = 5_000, 100, 50
MEMORY = Path("/dev/shm")


@pytest.fixture
def quick():
    """A folder in memory: what is counted here is work, and 5,000 adds are as many syncs."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def steps_of_adds(path, count):
    """The steps of SQLite's machine for each of so many adds."""
    counter, steps = [0], []
    with Queue(str(path)) as queue:
        queue.add("prepares the statements")
        queue.database.count_steps(counter)
        for number in range(count):
            before = counter[0]
            queue.add(f"echo {number}")
            steps.append(counter[0] - before)
    return steps


def test_case_25_the_last_of_5000_adds_takes_no_more_work_than_the_first(quick):
    path = quick / "queue.db"
    children = len(children_of_this_process())
    first = steps_of_adds(path, COUNTED)
    with Queue(str(path)) as queue:
        for number in range(ADDS - 2 * COUNTED - 3):
            queue.add(f"echo {number}")
        last = steps_of_adds(path, COUNTED)
        assert queue.add("the last").id == ADDS
    assert max(last) <= max(first)
    assert len(children_of_this_process()) == children


def test_case_25_fifty_adds_by_the_command_line_leave_fifty_jobs_and_no_process(quick):
    home = Home(quick / "queue")
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda number: home.add(f"echo {number}"), range(COMMANDS)))
    assert sorted(ids) == list(range(1, COMMANDS + 1))
    assert home.processes() == []  # they were begun in its working folder
    assert [home.row(number) for number in ids] == ["pending"] * COMMANDS


def children_of_this_process():
    """Their pids."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

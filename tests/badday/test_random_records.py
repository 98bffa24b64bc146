"""Run records with anything in them: what isn't a line counts for nothing, and the row it belongs to is settled all the same."""

import json
import os
import random

import pytest
from harness import eventually
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slothtray import policy
from slothtray.cli import render
from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.model import Job, State
from slothtray.paths import Paths
from slothtray.runner import Runner
from slothtray.store import Queue
from slothtray.system import folder, records

NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**63), 10**400, True]))
ANY = st.recursive(
    st.one_of(st.none(), NUMBERS, st.text(max_size=20), st.sampled_from(["S", "J", "K", "X", "exit", "\ud800"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = ["pid", "start", "boot", "cgroup", "at", "pids", "why", "code", "signal", "error", "left", "ran"]
LINES = st.fixed_dictionaries({"k": st.sampled_from("SJKX")}, optional=dict.fromkeys(FIELDS, ANY))
GOOD = [
    {"k": "S", "pid": 7, "start": 1, "boot": "b", "cgroup": "/", "at": 1.0},
    {"k": "J", "pid": 8, "start": 2},
    {"k": "K", "pids": [9]},
    {"k": "X", "why": "exit", "code": 3, "signal": None, "error": "", "left": 0, "ran": 1.5, "at": 2.0},
]


def encoded(line):
    return json.dumps(line).encode() + b"\n"


def sound(record):
    """Whether all that a record says may be believed: pids are of one process each, numbers fit into the database."""
    pids = [part.pid for part in (record.started, record.process) if part is not None] + list(record.unkillable)
    numbers = [*(record.result or ()), *(record.started or ()), *(record.process or ())]
    numbers = [number for number in numbers if isinstance(number, int | float)]
    fit = all(0 <= number <= 1e11 if isinstance(number, float) else abs(number) < 2**63 for number in numbers)
    return fit and all(0 < pid < 2**31 for pid in pids)


@given(st.binary(max_size=400))
@example(b"[" * 16000 + b"\n")
@example(b'{"k":' * 3000 + b"\n")
@example(b'{"k":"S","pid":-1,"start":1,"boot":"","cgroup":"","at":1}\n')
@example(b'{"k":"X","why":"exit","code":1e999,"signal":null,"error":"","left":0,"ran":NaN,"at":Infinity}\n')
@example(b'{"k":"X","why":"exit","code":' + b"9" * 5000 + b',"signal":null,"error":"","left":0,"ran":1,"at":1}\n')
@example(b'{"k":"J","pid":8,"start":18446744073709551616}\n')
@example(b'{"k":"X","why":"exit","code":9223372036854775808,"signal":null,"error":"","left":0,"ran":1,"at":1}\n')
@example(b"null\ntrue\n7\n[]\n\"S\"\n{}\n")
def test_any_bytes_are_a_record_that_may_be_believed(data):
    assert sound(records.parse(data))


@settings(max_examples=150)
@given(st.lists(st.one_of(LINES.map(encoded), st.sampled_from(GOOD).map(encoded), st.binary(max_size=30)), max_size=8).map(b"".join))
def test_any_lines_are_a_record_that_may_be_believed_and_lead_to_a_change_of_the_table(data):
    record = records.parse(data)
    assert sound(record)
    if record.result is not None:
        change = policy.after_result(ROW, record.result, 100.0, 2, 3600.0)
        assert change.to in (State.DONE, State.FAILED, State.CANCELLED, State.PENDING, State.HELD)


ROW = Job(**{**dict.fromkeys(Job._fields), "id": 1, "state": State.RUNNING, "attempts": 1, "failures": 0, "interruptions": 0, "unstarted": 0})


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"")), st.integers(0, 4))
def test_good_lines_are_read_whatever_stands_between_them(junk, place):
    lines = [encoded(line) for line in GOOD]
    lines.insert(place, junk + b"\n")
    record = records.parse(b"".join(lines) + b"\0" * 100)
    if not any(word in junk for word in (b'"k"',)):
        assert (record.started.pid, record.process.pid, record.unkillable, record.result.code) == (7, 8, (9,), 3)


# --- real rows -----------------------------------------------------------------------------------------------------------------


def garbage(seed):
    """What a disk that has gone mad may have left of a record."""
    made = random.Random(seed)
    lines = [encoded(line) for line in GOOD]
    kinds = (
        lambda: made.randbytes(made.randrange(5000)),
        lambda: b"".join(bytes([byte ^ (made.random() < 0.02) * made.randrange(256)]) for byte in b"".join(lines)),
        lambda: b"".join(lines)[: made.randrange(200)],
        lambda: b"".join(made.sample(lines, 3)) + made.randbytes(50),
        lambda: b"[" * made.randrange(16000) + b"\n",
        lambda: encoded({"k": "X", "why": made.choice(["exit", "cancel", "?", "exec"]), "code": made.choice([2**70, -1, None, 300]),
                         "signal": made.choice([None, 9, 10**6]), "error": "\ud800" * 9, "left": 2**40, "ran": 1e308, "at": -1e308}),
    )  # fmt: skip
    return kinds[seed % len(kinds)]()


@pytest.mark.parametrize("seed", range(24))
def test_a_running_row_with_such_a_record_is_settled_and_the_next_job_runs(tmp_path, seed):
    paths, clock = Paths(str(tmp_path / "queue")), ManualClock()
    folder.prepare(paths)
    queue = Queue(paths.database, clock)
    number = queue.add("true", max_attempts=1).id
    runner = Runner(paths, Watched(paths.config, defaults(), {"ceiling": None, "cooldown": 0.0}), "here", lambda: None, clock=clock)
    with queue.database.write():
        values = (f"{number}-00000000", "here", "an older boot", number)  # so that no seed makes it look for processes
        queue.database.execute("UPDATE jobs SET state = 'running', attempts = 1, run = ?, machine = ?, boot = ? WHERE id = ?", values)
    with open(paths.run_record(f"{number}-00000000"), "wb") as file:
        file.write(garbage(seed))
    after = queue.add("true").id
    eventually(lambda: (runner.step(), clock.advance(0.1), queue.get(after).state == "done")[2], "the next job has run")
    job = queue.get(number)
    assert job.state in ("done", "failed", "cancelled", "held")
    assert json.dumps(render.job_json(job, paths, defaults()))
    assert render.job_text(job, queue.events(number), paths, clock.wall())
    assert queue.events(number)[1].kind in ("done", "failed", "cancelled", "reclaimed", "held")
    runner.close()
    queue.close()


def test_a_record_of_random_bytes_under_a_living_supervisor_does_not_end_its_job_and_leads_to_no_second(home):
    number = home.add("echo once >> ran; touch began; until [ -e go ]; do sleep 0.02; done")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    record = home.paths.run_record(home.row(number, "run"))
    app.kill()
    size = os.path.getsize(record)
    with open(record, "r+b") as file:
        file.write(random.Random(1).randbytes(200))
    assert os.path.getsize(record) == size
    home.start()
    eventually(lambda: "adopted" in home.kinds(number), "the run is adopted")
    (home.work / "go").touch()
    assert home.wait_for(number, "held", "done", "pending", "failed") in ("held", "done", "pending")
    eventually(lambda: not home.processes(), "all has ended")
    assert home.wrote("ran") == "once\n"

"""Another program holds the database's lock for longer than anybody waits (case 10). The one long test of this folder."""

import time
from contextlib import closing

import pytest
from harness import eventually

HELD = 45.0
LOCKED = "is locked by another program"


@pytest.mark.timeout(150)
def test_case_10_a_result_outlives_a_lock_of_45_s_over_its_jobs_end_and_the_job_has_run_once(home):
    number = home.add("echo $SLOTHTRAY_RUN >> runs; touch began; until [ -e go ]; do sleep 0.02; done; exit 7")
    after = home.add("echo $SLOTHTRAY_RUN >> runs")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    with closing(home.read()) as foreign:
        foreign.isolation_level = None
        foreign.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        (home.work / "go").touch()
        eventually(lambda: not home.processes(), "job and supervisor have ended")
        refused = home.run("add", "echo never", code=4)
        assert LOCKED in refused.stderr
        assert "nothing was stored; try again" in refused.stderr
        eventually(lambda: LOCKED in app.said(), "the app says why nothing goes on")
        listed = home.run("list").stdout.splitlines()  # who only looks is not kept waiting
        assert LOCKED in listed[0]
        assert sum(" running " in line for line in listed) == 1
        time.sleep(HELD - (time.monotonic() - began))
        assert (home.row(number), app.process.poll()) == ("running", None)
        foreign.execute("COMMIT")
    assert home.wait_for(number, "failed", "done", "pending") == "failed"
    assert home.wait_for(after, "done") == "done"
    assert (home.row(number, "exit_code"), home.row(number, "attempts")) == (7, 1)
    assert home.kinds(number) == ["added", "claimed", "failed"]
    assert len(home.wrote("runs").splitlines()) == 2
    assert home.row(after + 1) is None
    said = app.said()
    assert said.count(LOCKED) == 1
    assert said.count("that is over: the queue goes on") == 1

"""What is secret is in no file, no list and no process but the job's own; and what was once stored can be got rid of."""

import os
from pathlib import Path

import pytest
from harness import eventually

from slothtray.model import Job
from slothtray.system import records

SECRET = "t0p-s3cret-4711"


def files_with(home, text=SECRET):
    """The names of the queue's files that have it in them."""
    return sorted(path.name for path in home.path.rglob("*") if path.is_file() and text.encode() in path.read_bytes())


def processes_with(pids, text=SECRET):
    """Which of these processes, but the job's own, have it in their words or their environment."""
    places = [(pid, what) for pid in pids for what in ("cmdline", "environ")]
    return [(pid, what) for pid, what in places if text.encode() in Path(f"/proc/{pid}/{what}").read_bytes()]


def supervisor_of(home, number):
    """The pids of a running job's supervisor and of the job."""
    eventually(lambda: home.row(number, "run"), "it was claimed")
    look = records.open_for_look(home.paths.run_record(home.row(number, "run")))
    record = eventually(lambda: (found := records.read(look)).process and found, "it runs")
    os.close(look)
    return record.started.pid, record.process.pid


def answers(home, number):
    """All that the reading commands say of a job, to people and to programs."""
    words = [[*command, *json] for json in ([], ["--json"]) for command in (["list"], ["show", str(number)], ["why", str(number)], ["config"])]
    return "".join(done.stdout + done.stderr for done in (home.run(*each) for each in words))


def test_a_secret_that_was_dropped_is_nowhere_whatever_becomes_of_the_job(home):
    secret = {"API_TOKEN": SECRET, "db_password": SECRET}
    app = home.start(environment=secret)
    shell = {**home.environment, **secret}
    failing, sleeping = home.add("echo out; exit 3", env=shell), home.add("--", "sleep", "60", env=shell)
    home.wait_for(failing, "failed")
    supervisor, job = supervisor_of(home, sleeping)
    assert processes_with([supervisor, job]) == []
    waiting = home.add("--delay", "1h", "true", env=shell)
    home.run("edit", str(waiting), "-p", "3", env=shell)
    home.run("cancel", str(sleeping))
    home.wait_for(sleeping, "cancelled")
    home.run("retry", str(failing), env=shell)
    eventually(lambda: home.kinds(failing).count("failed") == 2, "it has failed again")
    home.run("config", "set", "keep_env", "OTHER", env=shell)
    home.run("--frobnicate", code=2, env=shell)
    app.stop()
    assert home.log(failing).count("out") == 2
    assert files_with(home) == []
    assert SECRET not in answers(home, failing) + answers(home, waiting) + app.said()
    assert "API_TOKEN, db_password" in home.run("show", str(failing)).stdout


def test_a_secret_that_was_kept_is_in_the_database_and_in_the_job_alone_until_it_is_pruned(home):
    app = home.start()
    number = home.add("--env", "API_TOKEN", "--label", "mine", "--", "sleep", "60", env={**home.environment, "API_TOKEN": SECRET})
    supervisor, job = supervisor_of(home, number)
    eventually(lambda: processes_with([job]) == [(job, "environ")], "the job has it")
    assert processes_with([supervisor, app.process.pid]) == []
    assert SECRET not in answers(home, number)
    home.run("cancel", str(number))
    home.wait_for(number, "cancelled")
    assert files_with(home) == ["queue.db"]
    home.run("prune", "--older", "0")
    assert home.row(number) is None
    assert files_with(home) == []
    assert SECRET not in app.said()


def test_a_secret_in_a_command_can_be_edited_away(home):
    number = home.add(f"curl -u me:{SECRET} http://example.org")
    assert files_with(home) == ["queue.db"]
    home.run("edit", str(number), "--command", "curl --netrc http://example.org")
    assert files_with(home) == []


def test_a_supervisor_shows_neither_its_jobs_command_nor_its_environment(home):
    """`ps` and /proc tell everybody on the machine the words that a process was started with."""
    home.start()
    number = home.add("--env", f"PLAIN={SECRET}", "--", "sleep", "4711")
    supervisor, _ = supervisor_of(home, number)
    words = Path(f"/proc/{supervisor}/cmdline").read_bytes().split(b"\0")
    assert b"sleep" not in b" ".join(words)
    assert processes_with([supervisor]) == []
    names = {entry.split(b"=")[0] for entry in Path(f"/proc/{supervisor}/environ").read_bytes().split(b"\0") if entry}
    assert names <= {b"PATH", b"LD_LIBRARY_PATH", b"SLOTHTRAY_RUN"}


def test_what_is_shown_and_told_of_a_job_is_made_of_fields_none_of_which_is_its_environment():
    assert "env" not in Job._fields
    assert {"dropped", "command"} <= set(Job._fields)


@pytest.mark.parametrize("name", ["SLOTHTRAY_JOB", "SLOTHTRAY_RUN", "SLOTHTRAY_ATTEMPT"])
def test_a_job_that_queues_a_job_does_not_pass_its_own_cookie_on(home, name):
    home.start()
    number = home.add(f'echo "${name}"', env={**home.environment, name: "1-deadbeef"})
    home.wait_for(number, "done")
    assert home.log(number).strip() not in ("", "1-deadbeef")

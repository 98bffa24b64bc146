"""`slothtray why`: what keeps the queue, or one job, from going on."""

import json

from slothtray import bell
from slothtray.cli import render, streams
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.durations import parse_id
from slothtray.model import FINISHED, NEVER, Job, State
from slothtray.paths import Paths
from slothtray.policy import Wait, clock_words
from slothtray.store import Queue, person, reading, status
from slothtray.system import folder
from slothtray.text import clean, duration_words


def run(parsed: Parsed, paths: Paths) -> int:
    """Print every reason, a line each; none is an answer too."""
    queue = Queue(paths.database)
    try:
        now = Clock().wall()
        job = person.find(queue.database, parse_id(parsed.words[0])) if parsed.words else None
        waits = reasons(queue, paths, job, now)
        usual = reading.usual(queue.database, job) if job is not None and job.state not in FINISHED else None
        state = _why_not_waiting(queue, job)
    finally:
        queue.close()
    if parsed.flag("json"):
        shown = [{**wait._asdict(), "since": render.moment(wait.since), "until": render.moment(wait.until)} for wait in waits]
        print(json.dumps({"version": 1, "job": job.id if job is not None else None, "waits": shown}))
        return 0
    print("\n".join(f"{wait.gate}: {clean(wait.reason)}" for wait in waits) or state)
    if any(wait.gate == "load" for wait in waits):
        streams.tell(streams.TOO_BUSY.format(job.id if job is not None else "ID"))
    if usual is not None:
        print(f"It usually takes {duration_words(usual)}.")
    return 0


def reasons(queue: Queue, paths: Paths, job: Job | None, now: float) -> list[Wait]:
    """Why a job waits: first what is its own, then what holds the whole queue. Without a job why nothing starts."""
    if job is None:
        return _of_queue(queue, paths, now) if reading.counts(queue.database).pending else []
    if job.state is State.HELD:
        return [Wait("held", f"{job.reason}; `slothtray release {job.id}` queues it", None, None)]
    if job.state is not State.PENDING:
        return []
    due = job.not_before <= now and not job.start_now
    return _own(queue, job, now) + (_gates(queue, paths, now) if due else _no_app(paths))


def _of_queue(queue: Queue, paths: Paths, now: float) -> list[Wait]:
    job = reading.first_delayed(queue.database)
    if reading.next_due(queue.database) is None and (job is None or job.not_before > now):
        own = [wait._replace(reason=f"job {job.id}: {wait.reason}") for wait in _own(queue, job, now)] if job is not None else []
        return own + _no_app(paths)
    running = [Wait("running", f"job {one.id} runs{_stuck(one)}", one.started_at, None) for one in reading.running(queue.database)]
    return running + _gates(queue, paths, now)


def _own(queue: Queue, job: Job, now: float) -> list[Wait]:
    first = reading.running(queue.database)
    running = [Wait("running", f"job {one.id} runs first{_stuck(one)}", one.started_at, None) for one in first]
    if job.start_now:
        return running
    if job.not_before == NEVER:
        return [Wait("after", f"job {job.after} must be done first", job.created_at, None)]
    if job.not_before > now:
        gate = "retry" if job.failures or job.unstarted else "delay"
        words = f"{render.waiting_words(job, now, None)}, at {clock_words(job.not_before, now)}"
        return [Wait(gate, words, None, job.not_before)]
    ahead = reading.ahead_of(queue.database, job, now)
    words = "1 job goes first" if ahead == 1 else f"{ahead} jobs go first"
    return running + ([Wait("queue", words, job.created_at, None)] if ahead else [])


def _stuck(job: Job) -> str:
    """What a running job has to say: that something of it can't be killed."""
    return f" ({job.reason})" if job.reason else ""


def _gates(queue: Queue, paths: Paths, now: float) -> list[Wait]:
    if not bell.answered(paths):
        return _no_app(paths)
    trouble = folder.trouble_of(paths)
    if trouble:
        return [Wait("trouble", trouble, None, None)]
    pause = status.pause_of(queue.database, now)
    if pause is not None:
        until = f" until {clock_words(pause.until, now)}" if pause.until is not None else "; `slothtray resume` goes on"
        return [Wait("pause", f"paused since {clock_words(pause.since, now)}{until}", pause.since, pause.until)]
    said = status.status_of(queue.database)
    if said.gate is None or said.reason is None:
        return []
    return [Wait(said.gate, said.reason, said.since, said.until)]


def _no_app(paths: Paths) -> list[Wait]:
    if bell.answered(paths):
        return []
    return [Wait("app", "no app is running; start `slothtray`, or `slothtray run`", None, None)]


def _why_not_waiting(queue: Queue, job: Job | None) -> str:
    if job is None:
        pending = reading.counts(queue.database).pending
        return "Nothing keeps the next job: it is about to start." if pending else "Nothing waits."
    if job.state is State.PENDING:
        return f"Nothing keeps job {job.id}: it is about to start."
    how = f" ({clean(job.message)})" if job.message and job.state in (State.FAILED, State.CANCELLED) else ""
    again = f"; `slothtray retry {job.id}` queues it again" if how else ""
    return f"Job {job.id} does not wait: it is {job.state}{how}{again}."

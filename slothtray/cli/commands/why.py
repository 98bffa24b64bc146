"""`slothtray why`: what keeps the queue, or one job, from going on."""

import json

from slothtray import bell
from slothtray.cli import render
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.durations import parse_id
from slothtray.model import NEVER, Job, State
from slothtray.paths import Paths
from slothtray.policy import Wait, clock_words
from slothtray.store import Queue, person, reading, status
from slothtray.text import clean, duration_words


def run(parsed: Parsed, paths: Paths) -> int:
    """Print every reason, a line each; none is an answer too."""
    queue = Queue(paths.database)
    try:
        now = Clock().wall()
        job = person.find(queue.database, parse_id(parsed.words[0])) if parsed.words else None
        waits = reasons(queue, paths, job, now)
        usual = reading.usual(queue.database, job) if job is not None else None
        state = _why_not_waiting(queue, job)
    finally:
        queue.close()
    if parsed.flag("json"):
        shown = [{**wait._asdict(), "since": render.moment(wait.since), "until": render.moment(wait.until)} for wait in waits]
        print(json.dumps({"version": 1, "job": job.id if job is not None else None, "waits": shown}))
        return 0
    print("\n".join(f"{wait.gate}: {clean(wait.reason)}" for wait in waits) or state)
    if usual is not None:
        print(f"It usually takes {duration_words(usual)}.")
    return 0


def reasons(queue: Queue, paths: Paths, job: Job | None, now: float) -> list[Wait]:
    """Why a job waits: first what is its own, then what holds the whole queue. Without a job only the latter."""
    if job is None:
        return _gates(queue, paths, now) if reading.counts(queue.database).pending else []
    if job.state is State.HELD:
        return [Wait("held", f"{job.reason}; `slothtray release {job.id}` queues it", None, None)]
    if job.state is not State.PENDING:
        return []
    own = _own(queue, job, now)
    return own if own and job.not_before > now else own + ([] if job.start_now else _gates(queue, paths, now))


def _own(queue: Queue, job: Job, now: float) -> list[Wait]:
    if job.not_before == NEVER:
        return [Wait("after", f"job {job.after} must be done first", job.created_at, None)]
    if job.not_before > now:
        gate = "retry" if job.failures or job.unstarted else "delay"
        return [Wait(gate, render.waiting_words(job, now, None) + f", at {clock_words(job.not_before)}", None, job.not_before)]
    running = [Wait("running", f"job {one.id} runs first", one.started_at, None) for one in reading.running(queue.database)]
    ahead = reading.ahead_of(queue.database, job, now)
    return running + ([Wait("queue", f"{ahead} go first", job.created_at, None)] if ahead else [])


def _gates(queue: Queue, paths: Paths, now: float) -> list[Wait]:
    if not bell.answered(paths):
        return [Wait("app", "no app is running; start `slothtray`, or `slothtray run`", None, None)]
    pause = status.pause_of(queue.database, now)
    if pause is not None:
        until = f" until {clock_words(pause.until)}" if pause.until is not None else "; `slothtray resume` goes on"
        return [Wait("pause", f"paused since {clock_words(pause.since)}{until}", pause.since, pause.until)]
    said = status.status_of(queue.database)
    if said.gate is None or said.reason is None:
        return []
    return [Wait(said.gate, said.reason, said.since, said.until)]


def _why_not_waiting(queue: Queue, job: Job | None) -> str:
    if job is not None and job.state is not State.PENDING:
        return f"Job {job.id} does not wait: it is {job.state}."
    if job is not None:
        return f"Nothing keeps job {job.id}: it is about to start."
    return "Nothing waits." if not reading.counts(queue.database).pending else "Nothing keeps the next job: it is about to start."

"""How jobs look: as JSON for programs, as text for people. Times in JSON are ISO 8601 UTC; what does not apply is null."""

import datetime as dt

from slothtray.model import NEVER, Event, Job, State
from slothtray.paths import Paths
from slothtray.text import clean, duration_words


def moment(wall: float | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond."""
    if wall is None or wall in (0, NEVER):
        return None
    return dt.datetime.fromtimestamp(wall, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_json(job: Job, paths: Paths, attempts: int, reason: str | None = None) -> dict[str, object]:
    """JOB of the contract (DESIGN 12). ``attempts``: the limit that the config gives a job without its own."""
    return {
        "id": job.id,
        "state": str(job.state),
        "command": job.command,
        "argv": list(job.argv),
        "label": job.label,
        "priority": job.priority,
        "attempts": job.attempts,
        "failures": job.failures,
        "interruptions": job.interruptions,
        "max_attempts": job.max_attempts if job.max_attempts is not None else attempts,
        "max_runtime": job.max_runtime,
        "exit_code": job.exit_code,
        "signal": job.signal,
        "message": job.message,
        "reason": reason if reason is not None else job.reason,
        "created_at": moment(job.created_at),
        "not_before": moment(job.not_before),
        "started_at": moment(job.started_at),
        "finished_at": moment(job.finished_at),
        "after": job.after,
        "expires_at": moment(job.expires_at),
        "cwd": job.cwd,
        "log": paths.log(job.id),
    }


def event_json(event: Event) -> dict[str, object]:
    """One line of a job's history."""
    return {"at": moment(event.at), "kind": event.kind, "detail": event.detail}


def what_of(job: Job, now: float, reason: str | None = None) -> str:
    """The last column of a list: how it ended, since when it runs, or why it waits."""
    if job.state is State.RUNNING:
        attempt = f", attempt {job.attempts}" if job.attempts > 1 else ""
        ending = ", being cancelled" if job.cancel_requested else ""
        return f"for {duration_words(now - (job.started_at or now))}{attempt}{ending}"
    if job.state is State.PENDING:
        return clean(waiting_words(job, now, reason))
    if job.state is State.HELD:
        return clean(job.reason or "")
    return clean(job.message or "")


def waiting_words(job: Job, now: float, reason: str | None) -> str:
    """Why a pending job is not running yet."""
    if job.not_before == NEVER:
        return f"after job {job.after}"
    if job.not_before > now:
        wait = duration_words(job.not_before - now)
        again = f"attempt {job.attempts + 1} in {wait}" if job.attempts else f"in {wait}"
        return f"{again} ({job.message})" if job.message else again
    said = [text for text in (reason, job.reason) if text]
    return "; ".join(said)


def table(rows: list[tuple[str, ...]], width: int) -> str:
    """Rows in aligned columns that fit ``width``: the last but one column gives way, then the last."""
    if not rows:
        return ""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    spare = width - sum(widths[:-2]) - 2 * (len(widths) - 1)
    last = min(widths[-1], max(spare - 12, spare // 2))
    widths[-2] = max(8, min(widths[-2], spare - last))
    return "\n".join(
        "  ".join(clean(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def job_text(job: Job, events: list[Event], paths: Paths, now: float) -> str:
    """All about one job, a fact a line, then its history."""
    facts: list[tuple[str, object]] = [
        ("job", job.id),
        ("state", f"{job.state} {what_of(job, now)}".strip()),
        ("command", clean(job.command)),
        ("label", clean(job.label) if job.label else None),
        ("folder", clean(job.cwd)),
        ("priority", job.priority),
        ("attempts", job.attempts),
        ("max runtime", duration_words(job.max_runtime) if job.max_runtime else None),
        ("not passed on", ", ".join(clean(name) for name in job.dropped) or None),
        ("log", paths.log(job.id)),
    ]
    lines = [f"{name + ':':<14} {value}" for name, value in facts if value is not None]
    lines += ["", *(f"{local(event.at)}  {event.kind}  {clean(event.detail)}".rstrip() for event in events)]
    return "\n".join(lines)


def local(wall: float) -> str:
    """Local date and time for people."""
    return dt.datetime.fromtimestamp(wall).astimezone().strftime("%Y-%m-%d %H:%M:%S")

"""A change to a job that has not started: which columns get which values, checked as a new job's would be."""

from slothtray.model import NEVER, Job
from slothtray.store.adding import NewJob, check, fingerprint
from slothtray.store.rows import encode


class Edit:
    """Collects new values by column name; ``columns`` is what is written for a given job."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def set(self, column: str, value: object) -> None:
        """Give a column a new value."""
        self._values[column] = value

    def set_command(self, command: str, argv: tuple[str, ...]) -> None:
        """Give the job another command."""
        self._values.update(command=command, argv=argv)

    def columns(self, job: Job) -> dict[str, object]:
        """The columns to write. Raises ``Usage`` when the job could not have been added so."""
        new = job._replace(**{name: value for name, value in self._values.items() if name in Job._fields})  # type: ignore[arg-type]
        check(
            NewJob(
                new.command,
                new.argv,
                cwd=new.cwd,
                label=new.label,
                priority=new.priority,
                max_attempts=new.max_attempts,
                max_runtime=new.max_runtime,
            )
        )
        changed = {name: value for name, value in self._values.items() if getattr(job, name) != value}
        written = {name: encode(value) if name in ("command", "argv", "cwd") else value for name, value in changed.items()}
        if "not_before" in written:
            written |= _new_time(job, written.pop("not_before"))
        return {**written, "fingerprint": fingerprint(new.command, new.cwd)}


def _new_time(job: Job, not_before: object) -> dict[str, object]:
    """A new time to wait for: instead of a backoff, but not instead of the job that this one waits for."""
    if job.not_before == NEVER:
        return {"earliest": not_before}
    return {"not_before": not_before, "backoff": None}

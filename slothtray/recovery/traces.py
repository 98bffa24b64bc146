"""What logs and run records say of jobs that a backup may not know: ids given, runs that go on, runs that have ended."""

from typing import NamedTuple

from slothtray import policy, private
from slothtray.model import RunRecord
from slothtray.paths import Paths
from slothtray.system import records


class Traces(NamedTuple):
    """``highest``: the highest id there is a file of. ``live``: the runs whose supervisors live, by job. ``ended``: how the last
    run of a job ended, in words, with the wall time of its end.
    """

    highest: int
    live: dict[int, str]
    ended: dict[int, tuple[float, str]]


def find(paths: Paths) -> Traces:
    """Look at all files of jobs in the folder."""
    live: dict[int, str] = {}
    ended: dict[int, tuple[float, str]] = {}
    for name in private.names_in(paths.runs):
        number = _job_of(name)
        if number == 0 or "." in name:
            continue
        alive, record = _look(paths.run_record(name))
        if alive:
            live[number] = name
        elif record is not None and record.result is not None:
            ended[number] = max(ended.get(number, (0.0, "")), (record.result.at, policy.outcome_words(record.result)))
    return Traces(highest_id(paths), live, ended)


def highest_id(paths: Paths) -> int:
    """The highest job id there is a file of; 0 without one."""
    return max(map(_job_of, [*private.names_in(paths.logs), *private.names_in(paths.runs)]), default=0)


def _look(path: str) -> tuple[bool, RunRecord | None]:
    try:
        descriptor = records.open_for_look(path)
    except OSError:
        return False, None
    return records.look(descriptor)


def _job_of(name: str) -> int:
    """The job that a log's or a record's name begins with; 0 for another file."""
    stem = name.replace(".", "-").partition("-")[0]
    return int(stem) if stem.isascii() and stem.isdecimal() and len(stem) < 16 else 0

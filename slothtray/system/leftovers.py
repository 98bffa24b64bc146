"""The files that jobs leave behind, and their removal when the jobs are forgotten."""

import os

from slothtray.paths import Paths


def log_size(paths: Paths, job: int) -> int:
    """Bytes that a job's log takes on the disk, without what was cut out of it; 0 when there is none."""
    try:
        found = os.lstat(paths.log(job))
    except OSError:
        return 0
    on_disk = getattr(found, "st_blocks", 0) * 512
    return min(found.st_size, on_disk) if on_disk else found.st_size


def until_fits(paths: Paths, going: list[int], candidates: list[int], size: int) -> list[int]:
    """``going``, and as many of the oldest ``candidates`` as it takes until all logs together have at most ``size`` bytes."""
    total = sum(log_size(paths, job) for job in _jobs_with_logs(paths))
    chosen = dict.fromkeys(going)
    total -= sum(log_size(paths, job) for job in going)
    for job in candidates:
        if total <= size:
            break
        if job not in chosen and (found := log_size(paths, job)):
            chosen[job] = None
            total -= found
    return list(chosen)


def _jobs_with_logs(paths: Paths) -> list[int]:
    try:
        names = os.listdir(paths.logs)
    except OSError:
        return []
    return [int(stem) for stem, dot, end in (name.partition(".") for name in names) if end == "log" and stem.isdecimal()]


def remove(paths: Paths, jobs: set[int]) -> None:
    """Unlink the logs and run records of these jobs; what can't be removed stays."""
    for job in jobs:
        _unlink(paths.log(job))
    try:
        names = os.listdir(paths.runs)
    except OSError:
        return
    for name in names:
        stem = name.partition("-")[0]
        if stem.isdecimal() and int(stem) in jobs:
            _unlink(os.path.join(paths.runs, name))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return

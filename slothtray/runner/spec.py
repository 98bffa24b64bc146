"""What a supervisor is told about its attempt: one JSON line."""

import os
import socket
import time

from slothtray import environment
from slothtray.config import Config
from slothtray.model import Job
from slothtray.paths import Paths, options
from slothtray.store.rows import encode

VERSION = 1
"""The supervisor's SPEC_VERSION. Not imported from it: a supervisor that is broken must not take the app with it."""


def build(job: Job, captured: dict[str, str] | None, config: Config, paths: Paths, boot: str) -> bytes:
    """The spec of a claimed job's attempt, ready to send."""
    own = {"SLOTHTRAY_JOB": str(job.id), "SLOTHTRAY_RUN": str(job.run), "SLOTHTRAY_ATTEMPT": str(job.attempts)}
    if options(paths):
        # `slothtray cancel $SLOTHTRAY_JOB` in the job is to find it, not its namesake in the person's own queue.
        own["SLOTHTRAY_HOME"] = paths.home
    spec = {
        "version": VERSION,
        "argv": job.argv,
        "env": environment.for_job(captured, os.environ, answers, own),
        "cwd": job.cwd,
        "umask": job.umask,
        "nice": config.nice,
        "log": paths.log(job.id),
        "header": header(job),
        "max_runtime": job.max_runtime if job.max_runtime is not None else config.max_runtime,
        "grace": config.kill_grace,
        "boot": boot,
    }
    return encode(spec).encode() + b"\n"


def header(job: Job) -> str:
    """The line between two attempts in a job's log."""
    if job.attempts < 2:
        return ""
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.started_at))
    return f"--- attempt {job.attempts}, {started} ---\n"


def answers(path: str) -> bool:
    """Whether somebody listens on a Unix socket: an agent of a login that is over leaves its file behind."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(0.2)
            probe.connect(path)
    except (OSError, AttributeError, ValueError):
        return False
    return True

"""The settings and their defaults (DESIGN 14). Durations in seconds, sizes in bytes."""

from typing import NamedTuple

DEFAULT_INTERVAL = 15.0


class Config(NamedTuple):
    """What is in force. ``ceiling`` None: the load gate is off; "auto" ones are resolved before they get here."""

    ceiling: float | None
    interval: float = DEFAULT_INTERVAL
    cooldown: float = 5.0
    attempts: int = 1
    backoff_cap: float = 3600.0
    kill_grace: float = 10.0
    lease: float = 60.0
    settle: float = 30.0
    max_runtime: float | None = None
    nice: int = 10
    log_cap: int = 50_000_000
    prune_after: float | None = 30 * 86400.0
    notify_on: tuple[str, ...] = ("failed", "held")
    quiet_hours: tuple[str, str] | None = None
    keep_env: tuple[str, ...] = ()

"""Every key of `config.toml` in one table (DESIGN 14), from which the template, the check and `slothtray config` are made."""

from typing import NamedTuple

from slothtray.config.values import Bad, ceiling, duration, hours, names, size, some_of, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.config.values import Convert

Value = int | float | str | list[str]
"""What stands behind a key in the file."""

NEWS = ("failed", "held", "done", "retry", "empty")
"""What a person can be told of: how a job ended or why it needs a word, and that the queue is empty."""


class Config(NamedTuple):
    """What is in force. Durations are in seconds, sizes in bytes; None is no limit, no gate, no such hours."""

    ceiling: float | None
    interval: float
    cooldown: float
    attempts: int
    backoff_cap: float
    kill_grace: float
    lease: float
    settle: float
    max_runtime: float | None
    nice: int
    log_cap: int
    prune_after: float | None
    notify_on: tuple[str, ...]
    quiet_hours: tuple[str, str] | None
    keep_env: tuple[str, ...]


class Key(NamedTuple):
    """One key: its ``default`` as it would stand in the file, how a value becomes the field of ``Config``, what it is for."""

    name: str
    default: Value
    convert: "Convert"
    meaning: str


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            "ceiling",
            "auto",
            ceiling,
            "Start nothing while the load of other programs is this high: a number, auto (half of the CPUs, at least 1), or off.",
        ),
        Key("interval", "15s", duration(1.0), "How often to look at the load while a job waits for it."),
        Key("cooldown", "5s", duration(), "How long to wait between two jobs."),
        Key("attempts", 1, whole(1, 1_000_000), "How often to try a job that fails and was added without --attempts."),
        Key("backoff_cap", "1h", duration(1.0), "The longest wait before a failed job's next attempt; the waits are 2, 4, 8 … s."),
        Key("kill_grace", "10s", duration(), "How long a job that is to end may take to do so before it is killed."),
        Key("lease", "60s", duration(1.0), "How long a started job is trusted to be alive without a look."),
        Key("settle", "30s", duration(), "How long to start nothing after the machine has been asleep."),
        Key("max_runtime", "none", duration(1.0, "none"), "How long a job may run that was added without -t; none: for ever."),
        Key("nice", 10, whole(0, 19), "How much jobs give way to other programs: 0 not at all, 19 the most."),
        Key("log_cap", "50MB", size(100_000), "How much of a job's output is kept: its beginning and its end, if there is more."),
        Key(
            "prune_after",
            "30d",
            duration(3600.0, "never"),
            "When done and cancelled jobs are forgotten, their logs with them; never: keep them.",
        ),
        Key("notify_on", ["failed", "held"], some_of(NEWS), f"What to be notified of, out of {', '.join(NEWS)}."),
        Key("quiet_hours", "none", hours, "Hours without notifications, such as 22:00-07:00, or none."),
        Key("keep_env", [], names, "Variables that jobs get though their names look secret, such as GITHUB_TOKEN."),
    )
}


def defaults(auto_ceiling: float | None = None) -> Config:
    """What is in force when nothing else is said. ``auto_ceiling`` is what "auto" means on this machine."""
    fields = Config._make(key.convert(key.default) for key in KEYS.values())
    return fields._replace(ceiling=auto_ceiling)


def field_of(name: str, value: object) -> object:
    """What a value in the file means for ``Config``. Raises ``Bad`` for one that won't do and for a key that there isn't."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        raise Bad("there are no sections and no tables here")
    if name not in KEYS:
        raise Bad("there is no such key" + _did_you_mean(name))
    return KEYS[name].convert(value)


def _did_you_mean(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower().replace("-", "_"), KEYS, n=1)
    return f", did you mean {near[0]}?" if near else ", `slothtray config` shows them all"

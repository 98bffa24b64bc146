"""Judges whether an app works the queue, and tells every gate's present answer. A shut gate is no fault."""

from typing import NamedTuple

from slothtray import policy
from slothtray.config import Config
from slothtray.doctor.checks import OK, WARNING, Check
from slothtray.model import Load
from slothtray.policy import Gates, Instant
from slothtray.store.health import Health

NAMES = ("storage", "pause", "settle", "cooldown", "load")


class Now(NamedTuple):
    """Readings of this moment. ``records``: whether run records can be made."""

    instant: Instant
    boot_id: str
    one: float
    records: bool


def app(pid: int | None, health: Health, *, answers: bool) -> Check:
    """Whether anything runs the queue."""
    if answers:
        return Check("app", OK, f"runs the queue (pid {pid})" if pid else "runs the queue")
    if health.pending:
        return Check("app", WARNING, f"none runs, and {health.pending} wait", "slothtray (or, without a desktop: slothtray run)")
    return Check("app", OK, "none runs; nothing waits" if health.exists else "none runs")


def load(now: Now, health: Health, config: Config) -> Check:
    """The load as the gate sees it."""
    figures = figures_of(now, health, config)
    if figures.ceiling is None:
        return Check("load", OK, f"{figures.one:.2f}; no ceiling is set")
    shut = figures.foreign >= figures.ceiling
    own = f", {figures.own:.2f} of it our own" if figures.own >= 0.005 else ""
    return Check("load", OK, f"{figures.one:.2f}{own}, ceiling {figures.ceiling:.2f}: a job would {'wait' if shut else 'start'}")


def gates(now: Now, health: Health, config: Config, *, answers: bool) -> Check:
    """Each gate by name. Where an app runs its word counts: it alone knows of settle and cooldown, and its options may differ."""
    row = health.queue or {}
    paused, until = bool(row.get("paused")), row.get("paused_until")
    facts = Gates(
        paused=paused,
        paused_until=float(until) if isinstance(until, int | float) else None,
        settle_until=0.0,
        cooldown_until=0.0,
        storage="" if now.records else "no run record can be made",
        load=figures_of(now, health, config),
        load_since=None,
    )
    shut = {wait.gate: wait.reason for wait in policy.waits(now.instant, facts)}
    gate, reason = row.get("gate"), row.get("reason")
    if answers and isinstance(gate, str) and isinstance(reason, str):
        shut[gate] = reason
    return Check("gates", OK, "; ".join(_answer(name, shut.get(name, "open")) for name in (*NAMES, *(shut.keys() - set(NAMES)))))


def _answer(name: str, words: str) -> str:
    return words if words.startswith(name) else f"{name}: {words}"


def figures_of(now: Now, health: Health, config: Config) -> Load:
    """The load less what our own job put there, which the last runner left in the queue's row."""
    row = health.queue or {}
    own, at, boot = row.get("load_own"), row.get("own_awake"), row.get("own_boot")
    average = 0.0
    if isinstance(own, int | float) and isinstance(at, int | float) and boot == now.boot_id:
        average = policy.own_load(float(own), 0, max(0.0, now.instant.awake - at))
    return policy.measured(now.one, average, config.ceiling)

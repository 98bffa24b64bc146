"""The code's own rules for the model: `policy` and `settle` as they stand in the source, with smaller limits, or a planted fault.

They are compiled anew into modules of the model's own, so that nothing of it reaches the real ones.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from world import Row, Seen

from slothtray import policy
from slothtray.clock import ManualClock
from slothtray.config import defaults
from slothtray.model import Job, JobProcess, RunRecord, Started
from slothtray.model import Result as ResultLine
from slothtray.paths import Paths
from slothtray.runner import settle
from slothtray.states import State, check_transition

NOW = ManualClock().wall()
CONFIG = defaults(1.0)
PATHS = Paths("/nowhere")
RUN = "1-00000000"
S = Started(pid=100, start=1, boot="this", cgroup="/", at=NOW)
J = JobProcess(pid=101, start=1)
SOMEBODY = SimpleNamespace(pid=101)

Exchange = tuple[str, str, str]
"""A planted fault: the module, what stands there once, what stands there instead."""


class Limits(NamedTuple):
    """What the job may do, and how often before it is held or has failed."""

    once: bool = False
    attempts: int = 2
    unstarted: int = 2
    interruptions: int = 2


def copy_of(module: ModuleType, exchanges: tuple[Exchange, ...]) -> Any:
    """A module of the same source, in which some text is another one."""
    source = inspect.getsource(module)
    name = module.__name__.rpartition(".")[2]
    for where, before, after in exchanges:
        if where == name:
            assert source.count(before) == 1, f"{before!r} stands {source.count(before)} times in {name}: out of date"
            source = source.replace(before, after)
    made = ModuleType(module.__name__)
    exec(compile(source, f"<{name} of the model>", "exec"), made.__dict__)
    return made


class Rules:
    """The verdict on a running row, and the change that follows."""

    def __init__(self, limits: Limits, exchanges: tuple[Exchange, ...]) -> None:
        self._limits = limits
        self.policy = copy_of(policy, exchanges)
        self.policy.UNSTARTED_LIMIT, self.policy.INTERRUPTION_LIMIT = limits.unstarted, limits.interruptions
        self.settle = copy_of(settle, exchanges)
        self.settle.policy, self.settle.Verdict = self.policy, self.policy.Verdict
        self.settle.launcher = SimpleNamespace(stderr_of=lambda *_: "")
        self._processes = self.settle.processes = SimpleNamespace()
        self.verdict: Callable[..., str] = lru_cache(None)(self._verdict)
        self.change: Callable[..., tuple[Row, str, int]] = lru_cache(None)(self._change)

    def _verdict(self, same_machine: bool, same_boot: bool, held: bool, seen: Seen | None) -> str:
        evidence = policy.Evidence(same_machine, same_boot, False, False, held, record_of(seen))
        return str(self.policy.verdict(evidence).name)

    def _change(self, verdict: str, row: Row, cancel_seen: bool, seen: Seen | None, found: bool) -> tuple[Row, str, int]:
        """The row after `_end`, the event's kind, and how many attempts have been taken back.

        ``row`` is the row as it stands at the commit; all but ``cancel_seen`` is as it was when it was read.
        """
        self._processes.remains = lambda *_: [SOMEBODY] if found else []
        self._processes.sweep = lambda *_: SimpleNamespace(killed=(), unproven=(SOMEBODY.pid,) if found else ())
        job = self._job(row._replace(cancel_requested=cancel_seen))
        verdict_ = self.policy.Verdict[verdict]
        change = self.settle.change_for(verdict_, job, record_of(seen), PATHS, CONFIG, NOW)
        if row.cancel_requested:  # queue.apply
            change = self.policy.cancelled_meanwhile(change, NOW)
        return self.changed(row, change)

    def changed(self, row: Row, change: Any) -> tuple[Row, str, int]:
        """What ``move`` makes of a row. Raises ``IllegalTransition``."""
        check_transition(row.state, change.to, change.kind)
        # A counter that has passed its limit (with a mutant that has none) need not go on: that would be states without end.
        highest = {"failures": self._limits.attempts, "interruptions": self._limits.interruptions, "unstarted": self._limits.unstarted}
        counts = {name: min(change.columns[name], most) for name, most in highest.items() if name in change.columns}
        waits = change.to is State.PENDING and change.columns.get("not_before", 0) > NOW
        back = 1 - change.columns.get("attempts", 1)
        return row._replace(state=change.to, backoff=waits, same_boot=True, **counts), change.kind, back

    def no_record(self, row: Row) -> Any:
        """The change of `_cannot_record`: uncounted."""
        change = policy.Change(State.PENDING, "unstarted", "no run record can be made", {"attempts": 0, "started_at": None})
        return self.policy.cancelled_meanwhile(change, NOW) if row.cancel_requested else change

    def _job(self, row: Row) -> Job:
        given = {
            "id": 1,
            "state": row.state,
            "attempts": 1,  # by the claim of this run; those before it make no difference
            "failures": row.failures,
            "interruptions": row.interruptions,
            "unstarted": row.unstarted,
            "max_attempts": self._limits.attempts,
            "once": self._limits.once,
            "cancel_requested": row.cancel_requested,
            "run": RUN,
            "holder": None,
        }
        return Job(**{name: given.get(name) for name in Job._fields})  # type: ignore[arg-type]


def record_of(seen: Seen | None) -> RunRecord | None:
    """What `records.read` makes of these lines."""
    if seen is None:
        return None
    written, result = seen
    line = None
    if "X" in written and result is not None:
        why, code = result
        line = ResultLine(why, code, 9 if code is None else None, "", 0, 1.0, NOW)
    return RunRecord(S if "S" in written else None, J if "J" in written else None, (), line)

"""The states of a job and the one table of allowed transitions (DESIGN 3). Apart from `model` for the sake of `add`."""

from enum import StrEnum

from slothtray.errors import IllegalTransition

PRIORITY_MIN, PRIORITY_MAX = -20, 19
NEVER = float("inf")
"""``not_before`` of a job that waits for another one (``--after``)."""


class State(StrEnum):
    """Where a job is. ``running`` is the only state in which processes of the job may live."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    HELD = "held"


FINISHED = frozenset({State.DONE, State.FAILED, State.CANCELLED})

_P, _R, _D, _F, _C, _H = State.PENDING, State.RUNNING, State.DONE, State.FAILED, State.CANCELLED, State.HELD

TRANSITIONS: frozenset[tuple[State | None, State, str]] = frozenset(
    {
        # from, to, the kind of event that tells of it (DESIGN 3)
        (None, _P, "added"),
        (None, _H, "added"),
        (_P, _R, "claimed"),
        (_R, _D, "done"),
        (_R, _F, "failed"),
        (_R, _C, "cancelled"),
        (_R, _P, "retry"),
        (_R, _P, "unstarted"),
        (_R, _P, "reclaimed"),
        (_R, _H, "held"),
        (_P, _H, "held"),
        (_P, _C, "cancelled"),
        (_P, _C, "expired"),
        (_P, _C, "dependency failed"),
        (_H, _P, "released"),
        (_H, _C, "cancelled"),
        (_H, _C, "expired"),
        (_H, _C, "dependency failed"),
        (_D, _P, "retried"),
        (_F, _P, "retried"),
        (_C, _P, "retried"),
    }
)


def check_transition(before: State | None, after: State, kind: str) -> None:
    """Raise ``IllegalTransition`` unless the table allows this change by this kind of event."""
    if (before, after, kind) not in TRANSITIONS:
        raise IllegalTransition(f"{before} -> {after} by {kind!r} is not in the table")

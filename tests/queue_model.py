"""What a queue does, as DESIGN 1 and 3 say it, in plain Python: no SQL, and nothing of slothtray. The machine compares."""

from dataclasses import dataclass, field

NEVER = float("inf")
CAP = 3.0
"""The longest backoff, in seconds: small, so that it is reached."""
OVER = ("done", "failed", "cancelled")
WAITING = ("pending", "held")


@dataclass
class Row:
    """One job. ``told`` are the kinds of its events; ``lease`` is (boot, time awake) until which a library's run is trusted."""

    id: int
    state: str
    priority: int = 0
    once: bool = False
    max_attempts: int | None = None
    after: int | None = None
    expires_at: float | None = None
    not_before: float = 0.0
    earliest: float = 0.0
    backoff: float | None = None
    attempts: int = 0
    failures: int = 0
    interruptions: int = 0
    unstarted: int = 0
    cancel_requested: bool = False
    start_now: bool = False
    started: bool = False
    label: str | None = None
    run: str | None = None
    lease: tuple[str, float] | None = None
    told: list[str] = field(default_factory=lambda: ["added"])

    def becomes(self, state: str, kind: str) -> None:
        """Every change of state has its event."""
        self.state = state
        self.told.append(kind)

    def waits_again(self, count: int, kind: str, now: float) -> None:
        """Back into the queue, after 2, 4, 8 … seconds."""
        self.backoff = min(2.0**count, CAP)
        self.not_before = now + self.backoff
        self.becomes("pending", kind)

    def fresh(self) -> None:
        """A person's release or retry is a new beginning."""
        self.failures = self.interruptions = self.unstarted = 0
        self.cancel_requested = self.start_now = self.started = False
        self.backoff = None


class Model:
    """The queue. What is refused changes nothing and gives False."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    # --- adding and claiming --------------------------------------------------------------------------------------------------

    def add(self, row: Row, *, unique: bool) -> int | None:
        """The new id, that of a living namesake, or None: what it would wait for will never be done."""
        for other in self.rows.values():
            if unique and other.label == row.label and other.state in ("pending", "running"):
                return other.id
        first = self.rows.get(row.after or 0)
        if first is not None and first.state in ("failed", "cancelled"):
            return None
        row.earliest = row.not_before
        if first is not None and first.state != "done":
            row.not_before = NEVER
        self.rows[row.id] = row
        return row.id

    def running(self) -> Row | None:
        """The one that runs."""
        return next((row for row in self.rows.values() if row.state == "running"), None)

    def make_due(self, now: float) -> None:
        """What is too late expires; what is due is due, and then first in is first out."""
        late = [row for row in self.rows.values() if row.expires_at is not None and row.expires_at <= now and not row.started]
        for row in sorted(late, key=lambda row: (row.expires_at, row.id)):
            if row.state in WAITING:
                self.end(row, "cancelled", "expired")
        for row in self.rows.values():
            if row.state == "pending" and row.not_before <= now:
                row.not_before = 0.0

    def claim(self, now: float, *, only_start_now: bool = False) -> Row | None:
        """Told to start, else the highest priority, then the first in; nothing while something runs."""
        if self.running() is not None:
            return None
        self.make_due(now)
        pending = [row for row in self.rows.values() if row.state == "pending"]
        told = [row for row in pending if row.start_now]
        due = [row for row in pending if row.not_before == 0 and not only_start_now]
        row = min(told or due, key=lambda row: (0 if told else -row.priority, row.id), default=None)
        if row is not None:
            row.attempts += 1
            row.not_before, row.backoff, row.start_now, row.started = 0.0, None, False, True
            row.becomes("running", "claimed")
        return row

    # --- how an attempt ends --------------------------------------------------------------------------------------------------

    def end(self, row: Row, state: str, kind: str) -> None:
        """A job is over; what waits for it goes on, or never will."""
        row.becomes(state, kind)
        for other in self.rows.values():
            if other.after == row.id and other.not_before == NEVER and other.state in WAITING:
                if state == "done":
                    other.not_before = other.earliest
                else:
                    self.end(other, "cancelled", "dependency failed")

    def failed(self, row: Row, now: float, *, hopeless: bool = False) -> None:
        """By its own fault."""
        row.failures += 1
        row.unstarted = 0
        if hopeless or row.failures >= (row.max_attempts or 1):
            self.end(row, "failed", "failed")
        elif row.cancel_requested:
            self.end(row, "cancelled", "cancelled")
        else:
            row.waits_again(row.failures, "retry", now)

    def interrupted(self, row: Row) -> None:
        """Cut short, by no fault of its own."""
        row.interruptions += 1
        row.unstarted = 0
        if row.cancel_requested:
            self.end(row, "cancelled", "cancelled")
        elif row.once or row.interruptions >= 10:
            row.becomes("held", "held")
        else:
            row.becomes("pending", "reclaimed")

    def not_started(self, row: Row, now: float) -> None:
        """Nothing of it ever ran, so it is no start."""
        row.attempts -= 1
        row.started = False
        row.unstarted += 1
        if row.cancel_requested:
            self.end(row, "cancelled", "cancelled")
        elif row.unstarted >= 3:
            row.becomes("held", "held")
        else:
            row.waits_again(row.unstarted, "unstarted", now)

    def unproven(self, row: Row) -> None:
        """Nobody can say whether it still runs."""
        if row.cancel_requested:
            self.end(row, "cancelled", "cancelled")
        else:
            row.becomes("held", "held")

    def finished(self, row: Row, state: str) -> None:
        """Done, or ended by the cancel."""
        row.unstarted = 0
        self.end(row, state, state)

    def expire_lease(self, boot: str, awake: float) -> None:
        """A library's run that was silent for too long is over."""
        row = self.running()
        if row is not None and row.lease is not None and (row.lease[0] != boot or awake >= row.lease[1]):
            self.interrupted(row)

    # --- the person -------------------------------------------------------------------------------------------------------------

    def cancel(self, row: Row) -> bool:
        """At once, or asked for when it runs."""
        if row.state in OVER:
            return False
        if row.state in WAITING:
            self.end(row, "cancelled", "cancelled")
        elif not row.cancel_requested:
            row.cancel_requested = True
            row.told.append("cancel requested")
        return True

    def hold(self, row: Row) -> bool:
        """Not before a release."""
        if row.state != "pending":
            return False
        row.becomes("held", "held")
        return True

    def release(self, row: Row) -> bool:
        """As new; what has never run still waits for its time, or for another job."""
        if row.state != "held":
            return False
        if row.started or row.unstarted:
            row.not_before = 0.0
        if row.started:
            row.expires_at = None
        row.fresh()
        row.becomes("pending", "released")
        return True

    def retry(self, row: Row) -> bool:
        """As new, at once; or after the job that it was to wait for, when that is to run again as well."""
        if row.state not in OVER:
            return False
        first = self.rows.get(row.after or 0)
        row.fresh()
        row.not_before = NEVER if first is not None and first.state not in OVER else 0.0
        row.earliest, row.expires_at = 0.0, None
        row.becomes("pending", "retried")
        return True

    def start(self, row: Row) -> bool:
        """Next, whatever it waits for."""
        if row.state == "pending":
            row.start_now = True
            row.told.append("start")
        return row.state == "pending"

    def edit(self, row: Row, name: str, value: object) -> bool:
        """One field; a new time to wait for takes the place of a backoff, but not of the job that it waits for."""
        if row.state not in WAITING:
            return False
        if getattr(row, name) != value:
            row.told.append("edited")
            if name == "not_before" and row.not_before == NEVER:
                row.earliest = value
                return True
            if name == "not_before":
                row.backoff = None
            setattr(row, name, value)
        return True

    def clamp_backoff(self, now: float) -> None:
        """No backoff lasts longer than it was meant to."""
        for row in self.rows.values():
            if row.state == "pending" and row.backoff is not None and row.not_before - row.backoff > now:
                row.not_before = now + row.backoff

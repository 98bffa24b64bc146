"""The world of the model: what is in memory, what is on the disk, what lives, who holds the lock. Values only.

One job, and everything that may touch it. Nothing counts the faults: kills and power cuts may come at any moment and as often
as they like. That the whole is finite is the policy's own doing, which holds a job after so many of them.
"""

from functools import lru_cache
from typing import NamedTuple

from slothtray.states import State

Result = tuple[str, int | None]
"""(why, code) of an X line."""
Seen = tuple[str, Result | None]
"""What somebody has read in a record: the letters of its lines, and the result."""


class Row(NamedTuple):
    """The job's row. Durable at each COMMIT (DESIGN 5), so there is no other copy of it."""

    state: State = State.PENDING
    failures: int = 0
    interruptions: int = 0
    unstarted: int = 0
    cancel_requested: bool = False
    backoff: bool = False
    """not_before lies in the future."""
    same_boot: bool = True
    """Whether ``boot``, written by the claim, is the present boot."""


class Run(NamedTuple):
    """One attempt: its record, its supervisor, its tree of processes."""

    # The record: its name in runs/, and the inode, which the descriptors of app and supervisor reach without a name.
    name: str = ""
    """ "": not made; volatile: made, its folder not synced; durable; removed."""
    written: str = ""
    """The lines so far, by their letters: S, J, X."""
    synced: int = 0
    """How many of them a power cut can't take back."""
    result: Result | None = None
    freed: bool = False
    """LOCK_UN was called on a shared descriptor, which frees everybody's lock: only a mutant does that."""
    # The supervisor.
    supervisor: str = ""
    """ "": none (any more); else what it did last: born, told, S, forked, watching, ending, X, synced."""
    ending: str = ""
    """Why it ends the tree: exit, cancel, interrupted."""
    spec: str = ""
    """On its standard input: "" nothing yet, sent, cut (the app died)."""
    stop: bool = False
    cancel: bool = False
    finished: bool = False
    """It has ended in order, after its X."""
    given_up: bool = False
    """Its death could not be proven, so the row is held; or cancelled, where the person had asked for that."""
    # The tree. The job's first process:
    main: str = ""
    """ "": none yet; forked: not at its exec, so it still has the record open; live; ok, bad: ended by itself with 0 or not;
    told ok: ended with 0, but was told to; killed."""
    kid: str = ""
    """Another process of the job. child: has the cookie, or the session; escapee: has dropped cookie, session and group."""


class App(NamedTuple):
    """The runner of the one app that holds the folder. Its memory is gone with it."""

    at: str = "select"
    """What it did last in this step."""
    attempt: str = ""
    """The Attempt that it watches: "" none, watching, over."""
    cancel_sent: bool = False
    opened: bool = False
    """It has found the record by its name, and keeps that descriptor for both questions."""
    held: bool = False
    """What the lock said."""
    seen: Seen | None = None
    """What the record said, as far as it matters; None: there is none."""
    verdict: str = ""
    cancel_seen: bool = False
    """The row's cancel_requested when it was read."""
    found: bool = False
    """The sweep has found what keeps it from being a proof."""
    elsewhere: bool = False
    """It runs on another machine, which sees the same folder and none of the processes."""


class Cancel(NamedTuple):
    """A `slothtray cancel` of the row's run, after its commit."""

    at: str = "asked"
    pinned: str = ""
    """Whom its pidfd stands for: supervisor, stranger."""
    reused: bool = False
    """The pid in the record is somebody else's by now."""


class World(NamedTuple):
    """All of it."""

    row: Row = Row()
    run: Run | None = None
    """The run of the row, until nothing can come of it any more."""
    stale: Run | None = None
    """An earlier run of which something is left. There never is one but with a mutant."""
    app: App | None = None
    cli: Cancel | None = None
    unannounced: bool = False
    """The job has started since the last word to the person that it will (again)."""


class Step(NamedTuple):
    """One atomic step. ``fair``: it comes by itself some time; the others are faults and what people do."""

    label: str
    to: World
    fair: bool = True
    event: str = ""
    """The kind of the event that it commits."""
    broken: str = ""
    """The promise that it breaks by itself."""


def lives(run: Run | None) -> bool:
    """Whether a copy of the job runs: anything of its tree, from its exec on."""
    return run is not None and (run.main == "live" or run.kid != "")


def present(run: Run | None) -> bool:
    """Whether any process of the run is left, its supervisor included."""
    return run is not None and (run.supervisor != "" or run.main == "forked" or lives(run))


def began(run: Run) -> bool:
    """Whether the job's program was ever executed in this run."""
    return run.main not in ("", "forked")


def announces(kind: str) -> bool:
    """Whether an event tells the person that the job will run (again)."""
    return kind in ("reclaimed", "retry", "released", "retried")


def settled(world: World) -> World:
    """The same world without what can't matter any more, so that there are fewer of them."""
    row, run, stale = world.row, world.run, world.stale
    if run is not None:
        busy = row.state is State.RUNNING or (world.app is not None and world.app.at != "select")
        run = _known(run) if busy or present(run) else None
    if stale is not None:
        stale = _known(stale) if present(stale) else None
    cli = None if run is None else world.cli
    same = run is world.run and stale is world.stale and cli is world.cli
    return world if same else world._replace(run=run, stale=stale, cli=cli)


@lru_cache(None)
def _known(run: Run) -> Run:
    """What a run's future depends on."""
    at = run.supervisor
    if at != "born" and run.spec:
        run = run._replace(spec="")
    if (run.stop or run.cancel) and at in ("", "ending", "X", "synced"):
        run = run._replace(stop=False, cancel=False)
    if "X" in run.written or not at:
        # How the first process has ended is said by now, or nobody will.
        said = "X" in run.written
        if run.main in ("bad", "told ok") or (run.main == "ok" and not said):
            run = run._replace(main="killed")
        if run.ending or (run.result is not None and not said):
            run = run._replace(ending="", result=run.result if said else None)
    return run

"""What happens around a crash point, from a job's add to its end. Each plot is lived through in a PID namespace of its own."""

import os
import signal
from pathlib import Path

from harness import App, Home, eventually

from slothtray import bell
from slothtray.store import Queue, person, status
from slothtray.system import records

JOB = """
exec 9>>lock; flock -n 9 || echo "$SLOTHTRAY_ATTEMPT" >> overlaps
echo "$SLOTHTRAY_ATTEMPT" >> began
setsid sleep 300 &
until [ -e go ]; do sleep 0.01; done
exit 7
"""
"""Says of each of its attempts that it has begun, and whether anything of another one still lives."""


def live(folder: str, plot: str, points: str) -> dict:
    """One plot; what came of its job."""
    home = Home(Path(folder))
    home.path.mkdir(mode=0o700)
    (home.path / "config.toml").write_text('backoff_cap = "2s"\n')
    try:
        globals()[plot](home, points)
        state = home.wait_for(1, "failed", "done", "cancelled", "held")
        eventually(lambda: not home.processes(), "nothing of it is left")
        names = ("exit_code", "attempts", "failures", "interruptions", "unstarted", "reason")
        read = {name: home.row(1, name) for name in names}
        began = " ".join(home.wrote("began").split())
        return {"state": state, **read, "kinds": home.kinds(1), "began": began, "overlaps": home.wrote("overlaps")}
    finally:
        home.close()


def hooked(home: Home, points: str) -> App:
    """An app that dies at these points, or whose supervisor does."""
    return home.start(environment={"SLOTHTRAY_CRASH": points}, ready=False)


def dead(app: App) -> None:
    """Wait until it has died at its point."""
    assert app.process.wait(20) == -signal.SIGKILL, app.said()


def may_end(home: Home) -> None:
    """Let the job come to its end once it has begun."""
    (home.work / "go").touch()


def begun(home: Home) -> None:
    """Wait until the job has begun."""
    eventually(lambda: home.wrote("began"), "the job has begun")


def told(home: Home, *kinds: str) -> None:
    """Wait for one of these events."""
    eventually(lambda: set(kinds) & set(home.kinds(1)), f"one of {kinds}")


def supervisor_of(home: Home) -> int:
    """The pid in the run's record."""
    look = records.open_for_look(home.paths.run_record(home.row(1, "run")))
    assert look is not None
    try:
        started = records.read(look).started
    finally:
        os.close(look)
    assert started is not None
    return started.pid


# --- the plots ------------------------------------------------------------------------------------------------------------------


def app_dies(home: Home, points: str) -> None:
    """An app dies there, alone or with its supervisor; another one takes over."""
    home.enqueue(JOB)
    may_end(home)
    dead(hooked(home, points))
    home.start()


def app_dies_while_the_job_runs(home: Home, points: str) -> None:
    """The same with a job that is still at work when the other one comes."""
    home.enqueue(JOB)
    dead(hooked(home, points))
    home.start()
    told(home, "adopted")
    may_end(home)


def adopter_dies(home: Home, points: str) -> None:
    """An app is killed, the one that adopts its run dies, a third one adopts it again."""
    home.enqueue(JOB)
    first = home.start()
    begun(home)
    first.kill()
    dead(hooked(home, points))
    before = home.kinds(1).count("adopted")
    home.start()
    eventually(lambda: home.kinds(1).count("adopted") > before, "it is adopted")
    may_end(home)


def sweeper_dies(home: Home, points: str) -> None:
    """The supervisor is killed, and the app that looks for what it has left dies."""
    home.enqueue(JOB)
    app = hooked(home, points)
    begun(home)
    os.kill(supervisor_of(home), signal.SIGKILL)
    dead(app)
    may_end(home)
    home.start()


def no_record_can_be_made(home: Home, points: str) -> None:
    """A file is in the place of the folder of records, and the app dies before it can say so."""
    app = hooked(home, points)
    eventually(app.holds_folder, "the app holds the folder")
    (home.path / "runs").rmdir()
    (home.path / "runs").touch()
    home.enqueue(JOB)
    may_end(home)
    dead(app)
    (home.path / "runs").unlink()
    home.start()


def cancel_is_passed_on(home: Home, points: str) -> None:
    """The command that cancels is killed after its commit, and the app that passes the cancel on dies."""
    home.enqueue(JOB)
    app = hooked(home, points)
    begun(home)
    commit_cancel(home)
    dead(app)
    home.start()


def commit_cancel(home: Home) -> None:
    """What `slothtray cancel` does before it signals."""
    with Queue(home.paths.database) as queue, queue.database.write():
        person.cancel(queue.database, 1, queue.clock.wall())
    bell.ring(home.paths)


def supervisor_dies(home: Home, points: str) -> None:
    """The supervisor dies there and its app settles that. The queue is paused but for one start: the next one would die too."""
    home.enqueue(JOB)
    may_end(home)
    with Queue(home.paths.database) as queue, queue.database.write():
        status.set_pause(queue.database, queue.clock.wall(), None)
        person.start(queue.database, 1, queue.clock.wall())
    app = hooked(home, points)
    told(home, "unstarted", "reclaimed", "failed", "held")
    app.kill()
    with Queue(home.paths.database) as queue, queue.database.write():
        status.clear_pause(queue.database, queue.clock.wall())
    home.start()

"""The disk becomes full at any moment of a job's life: it is told, nothing is lost, and with room again all goes on."""

import os
import shutil
import subprocess
from pathlib import Path

from harness import PROGRAM, Home, eventually
from private import in_namespace
from small_disk import PAGE, Disk, Queued

from slothtray.paths import Paths
from slothtray.runner import storage
from slothtray.system import folder, records
from slothtray.system.launcher import Launcher

FREE = range(17)
"""Pages: from a claim that can't be stored to two jobs that have all they need."""
NO_SPACE = "no space left for the database"


def test_with_any_number_of_free_pages_no_job_is_lost_or_doubled_and_with_room_all_goes_on(tmp_path):
    seen = in_namespace(at_every_page, str(tmp_path))
    for left, one in enumerate(seen):
        assert one["starts"] == {"1": 1, "2": 1}, left
        assert one["kinds"] == [["added", "claimed", "done"]] * 2, left
    stopped = [one["stopped"] for one in seen]
    assert stopped[0] == ["pending", "pending"]  # at its claim
    assert ["running", "pending"] in stopped  # at its end
    assert ["done", "running"] in stopped
    assert stopped[-1] == ["done", "done"]
    assert all(NO_SPACE in " ".join(one["told"]) for one in seen if one["stopped"] != ["done", "done"])


def at_every_page(place):
    disk, seen = Disk(Path(place, "disk")), []
    for left in FREE:
        queued = Queued(Path(place), disk, f"queue-{left}")
        first, second = queued.add("echo output"), queued.add("echo more")
        disk.fill(left)
        # It is at its end, or keeps meeting the full disk.
        queued.look(lambda q=queued, last=second: q.state(last) == "done" or len([w for w in q.told if NO_SPACE in w]) > 5)
        stopped, told = [queued.state(first), queued.state(second)], queued.told[:]
        disk.make_room()
        queued.look(lambda q=queued, last=second: q.state(last) == "done")
        kinds = [queued.kinds(first), queued.kinds(second)]
        seen.append({"stopped": stopped, "told": told, "starts": queued.starts(), "kinds": kinds})
        queued.close()
        shutil.rmtree(queued.paths.home)
    return seen


class Filling(Launcher):
    """Fills the disk at a step of the start; the first time only."""

    def __init__(self, disk, step):
        super().__init__()
        self._disk, self._step = disk, step

    def launch(self, *words):
        self._fill("record")
        return super().launch(*words)

    def _spawn(self, *words):
        self._fill("S")
        return super()._spawn(*words)

    def _fill(self, step):
        if self._step == step:
            self._disk.fill()
            self._step = ""


def test_full_between_claim_and_record_the_job_goes_back_uncounted_and_waits_at_the_gate(tmp_path):
    seen = in_namespace(full_at, str(tmp_path), "record")
    assert seen["stopped"] == "running"  # what it is to be, instead, can't be written either
    assert seen["kinds"] == ["added", "claimed", "unstarted", "claimed", "done"]
    assert (seen["starts"], seen["attempts"]) == ({"1": 1}, 1)
    assert NO_SPACE in " ".join(seen["told"])


def test_full_from_before_the_supervisors_first_word_to_its_last_the_result_is_kept_all_the_same(tmp_path):
    seen = in_namespace(full_at, str(tmp_path), "S")
    assert seen["record"] == ["S", "J", "X"]
    assert seen["stopped"] == "running"
    assert seen["kinds"] == ["added", "claimed", "done"]
    assert (seen["starts"], seen["attempts"]) == ({"1": 1}, 1)


def test_a_retry_that_finds_no_room_for_its_logs_line_has_not_begun_and_waits_for_room(tmp_path):
    seen = in_namespace(full_at_the_second_header, str(tmp_path))
    assert seen["kinds"] == ["added", "claimed", "retry", "claimed", "unstarted", "claimed", "done"]
    assert seen["detail"].startswith("could not start: log ")
    assert seen["detail"].endswith("No space left on device")
    assert (seen["starts"], seen["counts"]) == ({"1": 2}, [2, 1])


def full_at_the_second_header(place):
    """The first attempt fills its log to the page, so that the line between the two needs another one."""
    disk = Disk(Path(place, "disk"))
    queued = Queued(Path(place), disk, "queue")
    launcher = queued.runner._launcher = Filling(disk, "")
    number = queued.add("head -c 4096 /dev/zero; [ $SLOTHTRAY_ATTEMPT = 2 ]", max_attempts=2)
    queued.look(lambda: queued.queue.get(number).failures == 1)
    queued.clock.advance(2)
    launcher._step = "S"
    queued.look(lambda: queued.queue.get(number).attempts == 2)
    run = queued.queue.get(number).run
    queued.look(lambda: "X" in lines_of(queued.paths.run_record(run)))
    disk.make_room()
    queued.look(lambda: queued.kinds(number)[-1] == "unstarted")
    detail = queued.queue.events(number)[-1].detail
    queued.clock.advance(2)
    queued.look(lambda: queued.state(number) == "done")
    job = queued.queue.get(number)
    seen = {"detail": detail, "kinds": queued.kinds(number), "starts": queued.starts(), "counts": [job.attempts, job.failures]}
    queued.close()
    return seen


def test_the_gate_opens_where_there_is_room_for_record_and_log_at_once(tmp_path):
    nothing, record, both = in_namespace(why_not_with_few_pages, str(tmp_path))
    assert nothing.startswith("no run record can be made in ")
    assert record.startswith("no log can be made in ")
    assert both == ""


def why_not_with_few_pages(place):
    disk, seen = Disk(Path(place, "disk")), []
    paths = Paths(str(disk.path / "queue"))
    folder.prepare(paths)
    for left in range(3):
        disk.fill(left)
        seen.append(storage.why_not(paths))
        disk.make_room()
    assert os.listdir(paths.runs) == os.listdir(paths.logs) == []
    return seen


def full_at(place, step):
    disk = Disk(Path(place, "disk"))
    queued = Queued(Path(place), disk, "queue")
    queued.runner._launcher = Filling(disk, step)
    number = queued.add("true")
    queued.look(lambda: sum(NO_SPACE in words for words in queued.told) > 5)
    stopped, told, run = queued.state(number), queued.told[:], queued.queue.get(number).run
    eventually(lambda: step == "record" or lines_of(queued.paths.run_record(run)) == ["S", "J", "X"])
    record = lines_of(queued.paths.run_record(run))
    disk.make_room()
    queued.look(lambda: queued.state(number) == "done")
    attempts, kinds, starts = queued.queue.get(number).attempts, queued.kinds(number), queued.starts()
    queued.close()
    return {"stopped": stopped, "told": told, "record": record, "kinds": kinds, "starts": starts, "attempts": attempts}


def lines_of(path):
    """Which lines a run record has."""
    look = records.open_for_look(path)
    if look is None:
        return []
    record = records.read(look)
    os.close(look)
    return [name for name, part in zip("SJX", (record.started, record.process, record.result), strict=True) if part is not None]


def test_the_gate_is_shut_while_no_record_can_be_made_and_says_why(tmp_path):
    seen = in_namespace(no_inodes, str(tmp_path))
    assert seen["gate"] == "storage"
    assert seen["reason"].endswith("/runs: No space left on device")
    assert seen["reason"].startswith("no run record can be made in ")
    assert seen["kinds"] == ["added", "claimed", "unstarted", "claimed", "done"]
    assert (seen["starts"], seen["attempts"]) == ({"1": 1}, 1)


def no_inodes(place):
    """Room for any row, and for no file."""
    disk = Disk(Path(place, "disk"))
    queued = Queued(Path(place), disk, "queue")
    number = queued.add("true")
    made = 0
    while os.statvfs(disk.path).f_favail:
        made += 1
        (disk.path / f"file-{made}").touch()
    queued.look(lambda: len(queued.told) > 2)
    row = queued.queue.database.row("SELECT gate, reason FROM queue")
    for one in range(made):
        (disk.path / f"file-{one + 1}").unlink()
    queued.look(lambda: queued.state(number) == "done")
    kinds, starts, attempts = queued.kinds(number), queued.starts(), queued.queue.get(number).attempts
    queued.close()
    return {**dict(row), "kinds": kinds, "starts": starts, "attempts": attempts}


def test_a_first_add_that_cannot_be_stored_says_so_and_leaves_nothing_that_is_in_the_way(tmp_path):
    seen = in_namespace(first_add, str(tmp_path))
    for code, stdout, stderr in seen["refused"]:
        assert (code, stdout, stderr.count("\n")) == (4, "", 1)
        assert NO_SPACE in stderr
    assert seen["added"] == 1
    assert seen["end"] == "done"


def first_add(place):
    """With no page, and with too few for a whole schema."""
    disk = Disk(Path(place, "queue"))
    home = Home(disk.path)
    refused = []
    for left in (0, 9):
        disk.fill(left)
        done = home.run("add", "true", code=None)
        refused.append([done.returncode, done.stdout, done.stderr])
        disk.make_room()
    number = home.add("true")
    home.start()
    seen = {"refused": refused, "added": number, "end": home.wait_for(number, "done")}
    home.close()
    return seen


# --- the real program ----------------------------------------------------------------------------------------------------------


def test_case_11_a_job_that_fills_the_disk_fails_with_that_reason_and_after_a_removal_the_queue_goes_on(tmp_path):
    seen = in_namespace(case_11, str(tmp_path))
    assert seen["added"] == [4, "", 1]
    assert NO_SPACE in seen["refused"]
    assert "free some space and try again" in seen["refused"]
    assert NO_SPACE in seen["listed"].splitlines()[0]
    assert f"trouble: {NO_SPACE}" in seen["why"]
    assert f"nothing goes on: {NO_SPACE}" in seen["waited"]
    assert seen["reason"].endswith("; trying again")
    assert seen["end"] == ["failed", "the disk was full; exit 1"]
    assert seen["kinds"] == ["added", "claimed", "failed"]
    assert seen["next"] == ["done", "ok"]
    assert seen["said"].count(NO_SPACE) == 1
    assert "that is over: the queue goes on" in seen["said"]
    assert "the disk was full; exit 1" in seen["shown"]
    assert NO_SPACE not in seen["after"]
    assert seen["stopped"] == 0


def test_an_app_that_starts_on_a_full_disk_waits_for_room_and_a_look_is_a_look(tmp_path):
    seen = in_namespace(started_on_full, str(tmp_path))
    assert seen["alive"]
    assert "Traceback" not in seen["said"]
    assert seen["said"].count(NO_SPACE) == 1
    assert NO_SPACE in seen["listed"]
    assert seen["shown"] == 0
    assert "exit 3" in seen["log"]
    assert seen["end"] == "done"


def started_on_full(place):
    disk = Disk(Path(place, "queue"))
    home = Home(disk.path)
    failed = home.add("echo exit 3; exit 3")
    home.start("--until-empty").wait()
    number = home.add("true")
    log = Path(home.paths.app_log)
    log.write_bytes(log.read_bytes().ljust(2 * PAGE, b"\n"))  # its next line will need a page
    disk.fill()
    app = home.start(ready=False)
    eventually(lambda: NO_SPACE in app.said() or app.process.poll() is not None, "the app says so")
    seen = {
        "alive": app.process.poll() is None,
        "listed": home.run("list").stdout,
        "shown": home.run("show", str(failed)).returncode,
        "log": home.run("log", str(failed)).stdout,
    }
    disk.make_room()
    seen["end"] = home.wait_for(number, "done")
    seen["said"] = app.said()
    home.close()
    return seen


def case_11(place):
    disk = Disk(Path(place, "queue"))
    home = Home(disk.path)
    number, after = home.add("head -c 10M /dev/zero"), home.add("echo hello")
    app = home.start()
    eventually(lambda: os.statvfs(disk.path).f_bavail == 0, "the disk is full")
    eventually(lambda: NO_SPACE in app.said(), "the app says so")
    added = home.run("add", "true", code=None)
    listed, why, reason = home.run("list").stdout, home.run("why", str(after)).stdout, home.queue()["reason"]
    waited = home.run("wait", "--timeout", "0.1", str(after), code=124).stderr
    os.unlink(home.paths.log(number))
    home.wait_for(number, "failed")
    home.wait_for(after, "done")
    end, following = ([home.row(one), home.row(one, "message")] for one in (number, after))
    seen = {
        "added": [added.returncode, added.stdout, added.stderr.count("\n")],
        "refused": added.stderr,
        "listed": listed,
        "why": why,
        "waited": waited,
        "reason": reason,
        "after": home.run("why").stdout,
        "end": end,
        "next": following,
        "kinds": home.kinds(number),
        "shown": home.run("list").stdout,
        "stopped": app.stop(),
        "said": app.said(),
    }
    home.close()
    return seen


def test_a_full_disk_under_its_own_output_ends_no_app(home):
    number = home.add("exit 3")
    with open("/dev/full", "w") as full:
        program = [*PROGRAM, "run", "--ceiling", "off", "--cooldown", "0.01"]
        app = subprocess.Popen(program, env=home.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=full, stderr=full)
    try:
        assert home.wait_for(number, "failed") == "failed"
        assert home.wait_for(home.add("true"), "done") == "done"
        assert home.queue()["state"] == "idle"
        assert app.poll() is None
    finally:
        app.terminate()
        app.wait(20)

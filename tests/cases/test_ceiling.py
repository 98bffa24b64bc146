"""Jobs behind a ceiling: nothing starts before the load is under it, and the waiting says why with the figure."""

from harness import command_line, eventually

QUICK = ("--interval", "0.2s")
WIDE = {"COLUMNS": "300"}


def listed(home):
    return home.run("list", env={**home.environment, **WIDE}).stdout


def looks(app, figure):
    """How many times the app has printed this figure while it waited."""
    return sum(figure in line for line in app.said().splitlines() if "waiting: " in line)


def test_three_jobs_wait_for_the_load_then_one_is_fine_one_is_killed_with_its_group_one_has_its_own_code(home):
    home.set_load(5.0)
    fine = home.add("echo fine >> ran")
    endless = home.add("-t", "0.5s", "echo endless >> ran; sleep 100 & setsid sleep 100 & sleep 100")
    own = home.add("echo own >> ran; exit 37")
    app = home.start(*QUICK, "--until-empty", ceiling="2")
    eventually(lambda: looks(app, "load 5.00 > 2.00") >= 3, "it measures, and says so each time")
    assert home.wrote("ran") == ""
    assert [home.kinds(one) for one in (fine, endless, own)] == [["added"]] * 3
    home.set_load(2.0)
    eventually(lambda: looks(app, "load 2.00 ≥ 2.00") >= 2, "at the ceiling is not under it")
    assert home.wrote("ran") == ""
    home.set_load(1.99)
    assert app.wait() == 1
    assert home.wrote("ran") == "fine\nendless\nown\n"
    jobs = [home.job(one) for one in (fine, endless, own)]
    assert [(job["state"], job["exit_code"], job["message"]) for job in jobs] == [
        ("done", 0, "ok"),
        ("failed", None, "timed out"),
        ("failed", 37, "exit 37"),
    ]
    assert [command_line(pid) for pid in home.processes()] == []


def test_list_tells_the_figure_that_a_job_waits_for(home):
    home.set_load(5.0)
    number = home.add("true")
    app = home.start(*QUICK, ceiling="2")
    eventually(lambda: looks(app, "load 5.00 > 2.00"), "it measures")
    told = eventually(lambda: (queue := home.queue())["load"] and queue, "the queue's row is written")
    assert (told["state"], told["running"]) == ("waiting", 0)
    assert told["reason"].startswith("load 5.00 > 2.00")
    assert told["load"] == {"one": 5.0, "own": 0.0, "foreign": 5.0, "ceiling": 2.0}
    row = next(line for line in listed(home).splitlines() if line.split()[0] == str(number))
    assert "load 5.00 > 2.00" in row
    home.set_load(3.5)
    eventually(lambda: home.queue()["load"]["foreign"] == 3.5, "the figure follows")
    home.set_load(0.0)
    assert home.wait_for(number, "done") == "done"


def test_a_running_job_is_not_stopped_by_a_load_above_the_ceiling(home):
    first = home.add("touch began; until [ -e go ]; do sleep 0.02; done")
    second = home.add("true")
    app = home.start(*QUICK, ceiling="2")
    eventually((home.work / "began").exists, "the job has begun")
    home.set_load(9.0)
    (home.work / "go").touch()
    assert home.wait_for(first, "done", "failed") == "done"
    eventually(lambda: looks(app, "> 2.00") >= 2, "the next one waits")
    assert home.kinds(second) == ["added"]
    home.set_load(0.1)
    assert home.wait_for(second, "done") == "done"

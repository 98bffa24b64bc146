"""The config at work: a runner that follows it, `add` that keeps what it names, and the command that changes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import OBEDIENT, PROGRAM, App, eventually

from slothtray.config import KEYS, Watched, defaults, editing, parse
from slothtray.config.values import as_toml, as_words
from slothtray.runner import Loop, Tell
from slothtray.system import sleep

BASE = defaults(2.5)
DAY = 86400.0


def problem(text):
    return parse(text, BASE).problem


# --- a runner ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def config_of(home):
    """Writes a queue folder's config by hand: no bell rings."""

    def write(text):
        home.path.mkdir(exist_ok=True)
        Path(home.paths.config).write_text(text)

    return write


def runner(home, *options):
    app = App(home, [*PROGRAM, "run", *options], home.environment, ready=True)
    home.apps.append(app)
    return app


def test_set_starts_a_job_that_waited_for_the_load_at_once_and_keeps_the_next_one_back(home, config_of):
    config_of("ceiling = 1\ncooldown = 0\n")
    home.set_load(5.0)
    first = home.enqueue("true")
    app = runner(home, "--interval", "1h")
    eventually(lambda: "load 5.00 > 1.00" in app.said(), "it waits")
    home.run("config", "set", "ceiling", "off")
    home.wait_for(first, "done", limit=5)
    home.run("config", "set", "ceiling", "2")
    second = home.enqueue("true")
    eventually(lambda: "load 5.00 > 2.00" in app.said(), "it waits again")
    home.run("config", "set", "ceiling", "3")
    eventually(lambda: home.queue()["load"]["ceiling"] == 3, "what is told does not wait for the interval", limit=5)
    assert home.row(second) == "pending"
    assert "config: ceiling is None now, was 1.0" in Path(home.paths.app_log).read_text()


def test_a_cooldown_that_is_made_shorter_counts_for_the_one_that_runs(home, config_of):
    config_of("ceiling = 'off'\ncooldown = '1h'\n")
    home.enqueue("true")
    last = home.enqueue("true")
    app = runner(home)
    eventually(lambda: "cooldown: " in app.said(), "it cools down")
    home.run("config", "set", "cooldown", "0")
    home.wait_for(last, "done", limit=4)


def test_without_a_ring_a_changed_file_counts_at_the_next_look_and_a_wrong_one_never(home, config_of):
    config_of("ceiling = 1\n")
    home.set_load(5.0)
    job = home.enqueue("true")
    app = runner(home, "--interval", "0.2")
    eventually(lambda: "load 5.00 > 1.00" in app.said(), "it waits")
    config_of("ceiling = off\n")
    said = 'config.toml, line 1: ceiling = off: put quotes around it, as in "off"'
    eventually(lambda: said in app.said(), "the problem is told")
    looks = app.said().count("waiting: ")
    eventually(lambda: app.said().count("waiting: ") >= looks + 3, "it looks on, with the last good ceiling")
    assert app.said().count(said) == 1
    assert said in Path(home.paths.app_log).read_text()
    config_of("ceiling = 'off'\n")
    home.wait_for(job, "done", limit=5)


def test_a_runner_starts_under_a_wrong_file_and_its_options_win_over_a_right_one(home, config_of):
    config_of("nise = 3\nceiling = 0.5\n")
    home.set_load(5.0)
    job = home.enqueue("true")
    app = runner(home, "--ceiling", "off", "--until-empty")
    assert app.wait() == 0
    assert home.row(job) == "done"
    assert app.said().count("slothtray: config.toml, line 1: nise = 3: there is no such key, did you mean nice?\n") == 1


def test_the_tray_is_told_what_is_wrong_with_the_file(home, config_of):
    config_of("nise = 3\n")
    seen = []
    Loop(home.paths, Watched(home.paths.config, BASE), Tell(snapshot=seen.append), sleep.listen()).run(until=lambda _: True)
    assert seen[-1].trouble == "config.toml, line 1: nise = 3: there is no such key, did you mean nice?"
    assert seen[-1].badge


def test_jobs_without_limits_of_their_own_get_those_of_the_config(home, config_of):
    config_of("attempts = 2\nbackoff_cap = 1\nnice = 7\nmax_runtime = '1s'\nkill_grace = 1\nceiling = 'off'\ncooldown = 0\n")
    fails = home.enqueue("nice >> nice; exit 3")
    once = home.enqueue("exit 3", max_attempts=1)
    long = home.enqueue("sleep 60", max_attempts=1)
    assert runner(home, "--until-empty").wait() == 1
    assert home.wrote("nice") == "7\n7\n"
    assert [home.row(job, "failures") for job in (fails, once, long)] == [2, 1, 1]
    assert home.row(long, "message") == "timed out after 1 s"
    told = home.job(fails)
    assert (told["max_attempts"], told["max_runtime"]) == (2, 1.0)
    listed = json.loads(home.run("list", "--json").stdout)["jobs"]
    assert {job["id"]: job["max_attempts"] for job in listed} == {fails: 2, once: 1, long: 1}


def test_the_app_writes_the_file_that_explains_itself_and_runs_where_it_cannot(home, tmp_path):
    assert runner(home, "--until-empty").wait() == 0
    assert Path(home.paths.config).read_text() == editing.template()
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    data = tmp_path / "data"
    elsewhere = {**home.environment, "XDG_CONFIG_HOME": str(locked), "XDG_DATA_HOME": str(data)}
    del elsewhere["SLOTHTRAY_HOME"]
    ran = _obedient(home, elsewhere, "run", "--until-empty")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert os.listdir(locked) == []
    assert "can't be written: Permission denied" in (data / "slothtray" / "app.log").read_text()


def _obedient(home, environment, *words):
    """Run a command for which a file's mode counts, root or not."""
    words = [*OBEDIENT, *PROGRAM, *words] if os.geteuid() == 0 else [*PROGRAM, *words]
    return subprocess.run(words, env=environment, cwd=home.work, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=30)


@pytest.mark.parametrize(("wanted", "told"), [([], []), (["failed"], [1]), (["done"], [2]), (["empty"], [None])])
def test_a_person_is_told_what_they_asked_for_and_nothing_else(home, config_of, wanted, told):
    config_of(f"notify_on = {wanted}\ncooldown = 0\nceiling = 'off'\n")
    home.enqueue("exit 3")
    home.enqueue("true")
    notices = []
    loop = Loop(home.paths, Watched(home.paths.config, BASE), Tell(notice=notices.append), sleep.listen())
    loop.run(until=lambda runner: runner.finished())
    assert [notice.job for notice in notices] == told


# --- add ---------------------------------------------------------------------------------------------------------------


def test_keep_env_lets_a_variable_through_that_looks_secret(home, config_of):
    secret = {**home.environment, "MY_TOKEN": "t", "MY_KEY": "k"}
    config_of("keep_env = ['MY_TOKEN']\n")
    job = home.add("true", env=secret)
    assert json.loads(home.row(job, "dropped")) == ["MY_KEY"]
    assert json.loads(home.row(job, "env"))["MY_TOKEN"] == "t"


@pytest.mark.parametrize(("text", "dropped"), [("keep_env = ['MY_TOKEN']\nnise = 3\n", []), ("keep_env = MY_TOKEN\n", ["MY_TOKEN"])])
def test_a_wrong_file_stops_no_add_and_is_said_in_one_line(home, config_of, text, dropped):
    config_of(text)
    added = home.run("add", "-q", "true", env={**home.environment, "MY_TOKEN": "t"})
    assert added.stdout == "1\n"
    (line,) = added.stderr.splitlines()
    assert line.startswith("slothtray: config.toml, line ")
    assert json.loads(home.row(1, "dropped")) == dropped


@pytest.mark.parametrize("text", [editing.template(), "ceiling = 'off'\n"])
def test_an_add_with_something_to_drop_reads_no_toml_when_the_file_keeps_nothing(home, config_of, text):
    config_of(text)
    code = "import sys; from slothtray.__main__ import main; main(); print(*sorted(sys.modules))"
    words = [sys.executable, "-c", code, "add", "-q", "true"]
    ran = subprocess.run(words, env={**home.environment, "MY_TOKEN": "t"}, cwd=home.work, capture_output=True, text=True, check=True)
    number, modules = ran.stdout.splitlines()
    assert json.loads(home.row(int(number), "dropped")) == ["MY_TOKEN"]
    assert not {"tomllib", "slothtray.config", "typing"} & set(modules.split())


# --- the command -------------------------------------------------------------------------------------------------------


def test_config_alone_shows_what_is_in_force_and_where_it_comes_from(home, config_of):
    config_of("# mine\nnice = 3\nnotify_on = []\n")
    shown = dict(line.split(None, 1) for line in home.run("config").stdout.splitlines())
    assert list(shown) == list(KEYS)
    assert shown["nice"].split() == ["3", "line", "2"]
    assert shown["notify_on"].split() == ["(none)", "line", "3"]
    assert shown["interval"].split() == ["15s", "(default)"]
    assert shown["ceiling"].startswith("auto (")


def test_the_json_gives_values_that_programs_can_use(home, config_of):
    config_of("max_runtime = '2h'\n")
    told = json.loads(home.run("config", "--json").stdout)
    assert (told["version"], told["path"], told["problem"]) == (1, home.paths.config, None)
    keys = {key["name"]: key for key in told["keys"]}
    assert list(keys) == list(KEYS)
    assert keys["max_runtime"] == {
        "name": "max_runtime", "value": 7200.0, "text": "2h", "default": "none", "line": 1, "meaning": KEYS["max_runtime"].meaning,
    }
    one = json.loads(home.run("config", "get", "prune_after", "--json").stdout)
    assert (one["key"]["value"], one["key"]["line"]) == (30 * DAY, None)


def test_set_get_and_unset_come_back_to_where_they_began(home):
    home.run("config", "path")
    before = Path(home.paths.config).read_bytes()
    assert home.run("config", "get", "notify_on").stdout == "failed,held\n"
    home.run("config", "set", "notify_on", "done", "empty")
    home.run("config", "set", "interval", "1m")
    assert home.run("config", "get", "notify_on").stdout == "done,empty\n"
    assert home.run("config", "get", "interval").stdout == "1m\n"
    home.run("config", "unset", "notify_on")
    home.run("config", "set", "interval", "default")
    assert Path(home.paths.config).read_bytes() == before


def test_path_prints_the_path_and_writes_the_file(home):
    assert home.run("config", "path").stdout == f"{home.paths.config}\n"
    assert Path(home.paths.config).read_text() == editing.template()
    assert json.loads(home.run("config", "path", "--json").stdout) == {"version": 1, "path": home.paths.config}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "ceiling", "hi"], "ceiling can't be 'hi': use a number above 0, auto or off"),
        (["set", "interval", "0"], "interval can't be '0': use at least 1 s"),
        (["set", "nise", "3"], "'nise': there is no such key, did you mean nice?"),
        (["get", "frob"], "'frob': there is no such key, `slothtray config` shows them all"),
        (["set", "nice"], "`slothtray config set nice` is not complete, or too much: use `slothtray config set KEY VALUE`"),
        (["unset"], "`slothtray config unset` is not complete, or too much: use `slothtray config unset KEY`"),
        (["nice", "3"], "`slothtray config` takes no 'nice' there: did you mean `slothtray config set nice 3`?"),
        (["show"], "there is no `slothtray config show`: use get, set, unset or path"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_changes_nothing(home, config_of, words, said):
    config_of("nice = 1\n")
    refused = home.run("config", *words, code=2)
    assert (refused.stdout, refused.stderr) == ("", f"slothtray: {said}\n")
    assert Path(home.paths.config).read_text() == "nice = 1\n"


def test_a_wrong_file_is_shown_as_far_as_it_is_right_and_ends_with_2(home, config_of):
    config_of("nice = 3\nnise = 3\n")
    line = "config.toml, line 2: nise = 3: there is no such key, did you mean nice?"
    shown = home.run("config", code=2)
    assert shown.stderr == f"slothtray: {line}\n"
    assert "(default)" in shown.stdout
    got = home.run("config", "get", "nice", code=2)
    assert (got.stdout, got.stderr) == ("3\n", f"slothtray: {line}\n")
    assert json.loads(home.run("config", "--json", code=2).stdout)["problem"] == line
    assert home.run("config", "set", "nice", "4", code=2).stderr == f"slothtray: {line}: mend that first\n"
    assert home.run("prune", code=2).stderr == f"slothtray: {line}\n", "nothing is removed by a default that may not be meant"


def test_a_folder_that_cannot_be_written_and_a_file_that_cannot_be_read_are_one_line(home, config_of):
    config_of("nice = 3\n")
    home.path.chmod(0o500)
    refused = _obedient(home, home.environment, "config", "set", "nice", "4")
    assert refused.returncode == 4
    assert refused.stderr == f"slothtray: {home.paths.config} can't be written: Permission denied: check its folder's owner and mode\n"
    Path(home.paths.config).chmod(0)
    unread = _obedient(home, home.environment, "config", "get", "nice")
    assert (unread.returncode, unread.stdout) == (2, "10\n")
    assert unread.stderr == f"slothtray: {home.paths.config} can't be read: Permission denied\n"
    home.path.chmod(0o700)


def test_every_default_as_it_is_shown_can_be_set(home):
    for name, key in KEYS.items():
        assert editing.value_of(name, as_words(key.default)) == key.default
        assert parse(f"{name} = {as_toml(key.default)}", BASE).config == BASE

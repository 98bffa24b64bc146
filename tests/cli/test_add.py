"""`slothtray add`: every option, what it stores and what comes of it."""

import json
import os
import subprocess
import time
from datetime import datetime

import pytest
from harness import LIMIT, PROGRAM, eventually
from session import screen, started

WIDE = {"COLUMNS": "300"}


def over(home, number, state="done"):
    """Wait until the job is over as it should be."""
    assert home.wait_for(number, "done", "failed", "cancelled") == state
    return number


def moment(text):
    """Seconds since the epoch of a time in JSON."""
    return datetime.fromisoformat(text).timestamp()


# --- the command ---------------------------------------------------------------------------------------------------------------


def test_one_word_is_a_line_for_the_shell_it_was_added_from(running):
    number = running.add("echo $((1 + 1)) | tr 2 z; exit 0", env={**running.environment, "SHELL": "/bin/bash"})
    assert running.job(over(running, number))["argv"] == ["/bin/bash", "-c", "echo $((1 + 1)) | tr 2 z; exit 0"]
    assert running.log(number) == "z\n"


def test_without_a_shell_in_the_environment_it_is_sh(idle):
    without = {name: value for name, value in idle.environment.items() if name != "SHELL"}
    assert idle.job(idle.add("true", env=without))["argv"][0] == "/bin/sh"


def test_several_words_are_a_program_and_its_arguments_without_a_shell(running):
    number = over(running, running.add("echo", "$HOME", "*", ";", "a  b"))
    assert running.log(number) == "$HOME * ; a  b\n"


def test_after_two_dashes_one_word_too_is_run_as_it_is(running):
    number = over(running, running.add("--", "no such program | true"), "failed")
    assert running.row(number, "message") == "could not start: no such program | true: No such file or directory"
    assert "quote all as one argument" not in running.run("show", str(number)).stdout  # it was one


def test_a_program_that_is_missing_gets_a_hint_that_only_a_shell_knows_the_rest(running):
    number = over(running, running.add("cd", "/tmp", "&&", "ls"), "failed")
    assert 'slothtray add "…"' in running.run("show", str(number)).stdout


def test_an_alias_that_is_missing_gets_a_hint_that_jobs_have_none(running):
    number = over(running, running.add("my-alias"), "failed")
    assert "aliases and functions" in running.run("show", str(number)).stdout


def test_options_come_first_and_the_rest_is_the_command(running):
    number = over(running, running.add("-p", "3", "echo", "-p", "5", "--json", "--", "x"))
    assert running.log(number) == "-p 5 --json -- x\n"
    assert running.row(number, "priority") == 3


def test_case_15_arguments_arrive_as_they_were_given(running):
    words = ["printf", "%s|", "a", "", "b c", "d\ne", "ü", "--help", "$x", "'\"\\"]
    number = over(running, running.add("--", *words))
    assert running.log(number) == "a||b c|d\ne|ü|--help|$x|'\"\\|"
    assert running.job(number)["argv"] == words
    rows = [line for line in running.run("list", env={**running.environment, **WIDE}).stdout.splitlines() if line.startswith(f"{number} ")]
    assert len(rows) == 1
    assert "d ↵ e" in rows[0]


def test_case_15_a_command_of_120_kb_is_stored_shown_in_one_row_and_run(running):
    line = "echo " + "x" * 120_000
    number = over(running, running.add(line))
    assert running.log(number) == "x" * 120_000 + "\n"
    shown = running.run("list", env={**running.environment, "COLUMNS": "80"}).stdout.splitlines()
    assert len([row for row in shown if "xxxx" in row]) == 1
    assert max(map(len, shown)) <= 80


def test_case_15_arguments_that_no_program_can_be_started_with_fail_with_that_reason(running):
    number = running.enqueue("echo " + "x" * 200_000)  # over the kernel's 128 kB for one; a shell could not even start us so
    assert over(running, number, "failed")
    assert running.row(number, "message") == "could not start: /bin/sh: Argument list too long"


# --- what is printed ------------------------------------------------------------------------------------------------------------


def test_the_id_is_alone_on_stdout_and_stderr_says_that_no_app_runs_unless_asked_not_to(idle):
    said = idle.run("add", "true")
    assert int(said.stdout) == int(said.stdout.strip()) > 0
    assert said.stderr == "slothtray: no app is running; it starts when one is (`slothtray`, or `slothtray run`)\n"
    for quiet in ("-q", "--quiet"):
        said = idle.run("add", quiet, "true")
        assert (said.stdout.strip().isdecimal(), said.stderr) == (True, "")


def test_with_an_app_there_is_nothing_to_say(running):
    assert running.run("add", "true").stderr == ""


def test_json_prints_the_job(idle):
    told = json.loads(idle.run("add", "--json", "-p", "7", "--label", "l", "true").stdout)
    assert set(told) == {"version", "job"}
    assert (told["version"], told["job"]["priority"], told["job"]["label"], told["job"]["state"]) == (1, 7, "l", "pending")


# --- standard input -------------------------------------------------------------------------------------------------------------


def add_lines(home, data, *options, code=0):
    words = [*PROGRAM, "add", *options, "-"]
    done = subprocess.run(words, input=data, env=home.environment, cwd=home.work, capture_output=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_a_dash_reads_one_command_a_line_in_any_encoding_and_prints_their_ids(running):
    done = add_lines(running, b"echo one\r\n\n   \necho caf\xc3\xa9 \xff\nmkdir -p a && echo three", "-p", "2")
    ids = [int(line) for line in done.stdout.splitlines()]
    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]
    for number in ids:
        over(running, number)
    logs = [(running.path / "logs" / f"{number}.log").read_bytes() for number in ids]
    assert logs == [b"one\n", b"caf\xc3\xa9 \xff\n", b"three\n"]
    assert {running.row(number, "priority") for number in ids} == {2}


def test_a_dash_after_two_dashes_is_a_program(idle):
    assert idle.job(idle.add("--", "-"))["argv"] == ["-"]


@pytest.mark.parametrize("data", [b"", b"\n \n\n"])
def test_nothing_on_standard_input_is_refused(idle, data):
    done = add_lines(idle, data, code=2)
    assert done.stdout == b""
    assert b"no command on standard input" in done.stderr


def test_of_lines_with_a_bad_one_none_is_stored_and_its_number_is_told(home):
    done = add_lines(home, b"true\n\nfalse\necho \0\ntrue\n", code=2)
    assert (done.stdout, done.stderr.count(b"\n")) == (b"", 1)
    assert b"line 4: the command has a NUL byte" in done.stderr
    done = add_lines(home, b"true\n" + b"x" * 1_000_001 + b"\n", "--json", code=2)
    told = json.loads(done.stdout)["error"]
    assert (told["code"], told["title"][:8]) == ("usage", "line 2: ")
    assert home.run("list", "--json").stdout.endswith('"jobs": []}\n')


def test_json_of_standard_input_is_a_list(idle):
    told = json.loads(add_lines(idle, b"true\nfalse\n", "--json").stdout)
    assert [job["command"] for job in told["jobs"]] == ["true", "false"]
    assert set(told) == {"version", "jobs"}


# --- order, limits, attempts ----------------------------------------------------------------------------------------------------


def test_the_priority_decides_and_then_the_id(home):
    given = [("-p", "-20"), ("-p", "5"), (), ("--priority", "19"), ("-p5",), ("--priority=0",)]
    ids = [home.add(*options, f"echo {place} >> order") for place, options in enumerate(given)]
    assert [home.row(number, "priority") for number in ids] == [-20, 5, 0, 19, 5, 0]
    assert home.start("--until-empty").wait() == 0
    assert home.wrote("order").split() == ["3", "1", "4", "2", "5", "0"]


def test_a_job_that_runs_longer_than_its_limit_is_ended_and_failed(running):
    began = time.monotonic()
    number = over(running, running.add("-t", "1s", "sleep 60"), "failed")
    assert 1 <= time.monotonic() - began < LIMIT
    assert running.row(number, "message") == "timed out after 1 s"
    assert running.job(number)["max_runtime"] == 1.0


def test_attempts_are_made_with_growing_waits_and_then_it_has_failed(running):
    number = running.add("--attempts", "2", "echo try >> tries; exit 7")
    assert eventually(lambda: "retry" in running.kinds(number), "the first attempt has failed")
    row = next(line for line in running.run("list").stdout.splitlines() if line.startswith(f"{number} "))
    assert "attempt 2 in" in row
    assert "(exit 7)" in row
    over(running, number, "failed")
    assert (running.wrote("tries"), running.row(number, "failures")) == ("try\ntry\n", 2)
    assert "--- attempt 2, " in running.log(number)
    assert running.job(number)["max_attempts"] == 2


def supervisor(home, number):
    """The pid of the running job's supervisor."""
    record = home.path / "runs" / home.row(number, "run")
    return json.loads(eventually(record.read_text, "the supervisor has begun").partition("\n")[0])["pid"]


@pytest.mark.parametrize(("option", "state"), [("--once", "held"), ("-q", "done")])
def test_once_is_never_again_by_itself_not_even_after_its_supervisor_was_killed(running, tmp_path, option, state):
    mark = tmp_path / "mark"
    number = running.add(option, f"echo begun >> {mark}; [ -e {mark}.again ] || {{ touch {mark}.again; sleep 60; }}")
    eventually(mark.exists, "the job has begun")
    eventually((tmp_path / "mark.again").exists, "the job sleeps")
    os.kill(supervisor(running, number), 9)
    assert running.wait_for(number, "held", "done", "failed") == state
    assert mark.read_text().count("begun") == (1 if option == "--once" else 2)
    if state == "held":
        assert "may run only once" in running.row(number, "reason")
        running.run("cancel", str(number))


# --- when -----------------------------------------------------------------------------------------------------------------------


def test_hold_keeps_it_until_released(running):
    number = running.add("--hold", "true")
    over(running, running.add("true"))
    assert running.kinds(number) == ["added"]
    assert running.job(number)["state"] == "held"
    running.run("release", str(number))
    over(running, number)


def test_a_delay_is_waited_for_and_the_next_goes_first(running):
    began = time.time()
    number = running.add("--delay", "4s", "date +%s.%N")
    assert began + 4 <= moment(running.job(number)["not_before"]) <= time.time() + 4
    other = over(running, running.add("true"))
    over(running, number)
    assert float(running.log(number)) >= began + 4
    assert running.row(other, "started_at") < running.row(number, "started_at")
    assert running.job(number)["not_before"] is None


def test_at_takes_the_next_hh_mm_or_a_local_date_and_time(idle):
    place = {**idle.environment, "TZ": "Asia/Kolkata"}
    number = idle.add("--at", "06:30", "true", env=place)
    at = idle.row(number, "not_before")
    assert time.time() < at <= time.time() + 86400
    assert (at + 5.5 * 3600) % 86400 == 6.5 * 3600
    number = idle.add("--at", "2999-01-31T06:30", "true", env=place)
    assert idle.job(number)["not_before"] == "2999-01-31T01:00:00.000Z"
    number = idle.add("--at", "2999-01-31 06:30+02:00", "true", env=place)
    assert idle.job(number)["not_before"] == "2999-01-31T04:30:00.000Z"


REFUSED = [
    (["--at", "25:00"], "'25:00' is not a time"),
    (["--at", "soon"], "'soon' is not a time"),
    (["--at", "2001-01-01T00:00"], "is over already"),
    (["--at", "10:00", "--delay", "1h"], "say the same thing"),
    (["--delay", "0"], "--delay: '0' is no time at all"),
    (["--expires", "never"], "--expires: 'never' is not a duration"),
    (["--expires", "1m", "--delay", "1h"], "expire before it may start"),
    (["--after", "x"], "--after: 'x' is not a whole number"),
    (["--attempts", "many"], "--attempts: 'many' is not a whole number"),
    (["--label", ""], "label"),
    (["--label", "a\tb"], "label"),
    (["--label", "x" * 101], "longer than 100"),
    (["--unique"], "--unique needs a --label"),
    (["--env", "NO_SUCH_VARIABLE_HERE"], "there is no such variable"),
    (["--env", "=x"], "--env needs a name"),
    (["--once=yes"], "--once"),
    (["--clipboard"], "from the clipboard"),
    (["--unique", "--label", "l", "--hld"], "did you mean --hold?"),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "")
def test_a_bad_option_is_one_line_and_nothing_is_stored(idle, options, told):
    before = idle.enqueue("true")
    done = idle.run("add", *options, "true", code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
    assert idle.row(before, "(SELECT max(id) FROM jobs)") == before


def test_an_option_without_its_value_is_refused(idle):
    assert "-p/--priority: expected one argument" in idle.run("add", "-p", code=2).stderr


def test_after_waits_for_the_other_to_be_done(running, tmp_path, go):
    first = running.add(f"until [ -e {go} ]; do sleep 0.02; done; echo first >> {tmp_path}/order")
    second = running.add("--after", str(first), f"echo second >> {tmp_path}/order")
    third = running.add("--after", str(second), "-p", "19", f"echo third >> {tmp_path}/order")
    row = next(line for line in running.run("list").stdout.splitlines() if line.startswith(f"{third} "))
    assert row.endswith(f"after job {second}")
    assert running.job(third)["after"] == second
    go.touch()
    over(running, third)
    assert (tmp_path / "order").read_text().split() == ["first", "second", "third"]


def test_what_waits_for_a_job_that_fails_is_cancelled_down_the_chain_and_can_be_retried_with_it(running, tmp_path):
    first = running.add("--hold", f"[ -e {tmp_path}/mended ]")
    second = running.add("--after", str(first), "true")
    third = running.add("--after", str(second), "true")
    running.run("release", str(first))
    over(running, first, "failed")
    assert [running.wait_for(number, "cancelled") for number in (second, third)] == ["cancelled"] * 2
    assert [running.row(number, "message") for number in (second, third)] == [f"job {first} failed", f"job {second} cancelled"]
    assert running.events(third) == ["added", "dependency failed"]
    refused = running.run("add", "--after", str(first), "true", code=1)
    assert f"job {first} failed, so what waits for it would never run: `slothtray retry {first}` first" in refused.stderr
    assert f"there is no job {third + 999} to wait for" in running.run("add", "--after", str(third + 999), "true", code=1).stderr
    (tmp_path / "mended").touch()
    running.run("retry", str(first), f"{second}-{third}")
    over(running, third)


def test_after_and_delay_both_count(running):
    first = running.add("--hold", "true")
    number = running.add("--after", str(first), "--delay", "1h", "true")
    running.run("release", str(first))
    over(running, first)
    assert running.row(number) == "pending"
    assert " in " in next(line for line in running.run("list").stdout.splitlines() if line.startswith(f"{number} "))
    running.run("cancel", str(number))


def test_a_job_that_has_not_started_in_time_is_cancelled_and_one_that_has_is_not(home, tmp_path, go):
    home.start()
    begun = home.add("--expires", "1h", f"touch {tmp_path}/begun; until [ -e {go} ]; do sleep 0.02; done")
    eventually((tmp_path / "begun").exists, "the first has started in time")
    with home.read() as connection:  # an hour later
        connection.execute("UPDATE jobs SET expires_at = ? WHERE id = ?", (time.time() - 1, begun))
    connection.close()
    late = home.add("--expires", "1s", "true")
    assert moment(home.job(late)["expires_at"]) <= time.time() + 1
    assert home.wait_for(late, "cancelled", "done") == "cancelled"
    assert home.row(late, "message") == "expired before it could start"
    assert home.kinds(late) == ["added", "expired"]
    go.touch()
    over(home, begun)


# --- where, and what for -----------------------------------------------------------------------------------------------------------


def test_it_runs_in_the_folder_it_was_added_in_or_in_the_one_that_is_named(running):
    (running.work / "sub").mkdir()
    ids = [running.add("pwd"), running.add("--cwd", "sub", "pwd"), running.add("--cwd=/usr", "pwd")]
    ids.append(running.add("pwd", cwd=running.work / "sub"))
    assert [running.log(over(running, number)).strip() for number in ids] == [str(running.work), f"{running.work}/sub", "/usr", f"{running.work}/sub"]
    assert running.job(ids[1])["cwd"] == f"{running.work}/sub"


def test_a_present_folder_that_is_gone_is_refused(idle, tmp_path):
    done = idle.run("add", "true", code=2, cwd=tmp_path, preexec_fn=tmp_path.rmdir)
    assert "the present folder is gone: change to another, or name one with --cwd" in done.stderr


def test_a_unique_label_is_there_once_as_long_as_it_waits_or_runs(home):
    words = ("add", "--unique", "--label", "nightly")
    first = home.add(*words[1:], "echo one")
    again = home.run(*words, "-p", "5", "echo two")
    assert int(again.stdout) == first
    assert f"job {first} of that label waits or runs already; nothing was added" in again.stderr
    assert (home.run(*words, "-q", "echo two").stderr, home.row(first, "(SELECT count(*) FROM jobs)")) == ("", 1)
    assert json.loads(home.run(*words, "--json", "echo two").stdout)["job"]["id"] == first
    assert home.add("--label", "nightly", "true") == first + 1  # who doesn't ask for it is not kept from it
    home.start()
    over(home, first + 1)
    assert home.add(*words[1:], "echo three") == first + 2


def test_unique_with_several_lines_is_refused_as_it_would_drop_all_but_one(idle):
    done = add_lines(idle, b"true\nfalse\n", "--unique", "--label", "l", code=2)
    assert b"--unique would take only the first line" in done.stderr


# --- the clipboard ----------------------------------------------------------------------------------------------------------------


def test_the_clipboards_text_runs_in_the_home_folder_by_a_login_shell_with_the_other_options(running, tmp_path):
    (tmp_path / ".profile").write_text("export FROM_PROFILE=login\n")
    with screen() as display:
        there = {**running.environment, "DISPLAY": display, "HOME": str(tmp_path)}
        copied = 'echo "$FROM_PROFILE|$PWD|$GIVEN"'
        with started(["xclip", "-selection", "clipboard", "-quiet", "-i"], stdin=subprocess.PIPE, env=there) as xclip:
            xclip.stdin.write(copied.encode())
            xclip.stdin.close()
            asked = ["xclip", "-selection", "clipboard", "-o"]
            eventually(lambda: subprocess.run(asked, env=there, capture_output=True, check=False).stdout, "it is copied")
            first = running.add("--clipboard", "-p", "4", "--env", "GIVEN=x", env=there)
            second = running.add("--clipboard", "--cwd", "/usr", env=there)
    assert running.log(over(running, first)) == f"login|{tmp_path}|x\n"
    assert running.log(over(running, second)) == "login|/usr|\n"
    assert (running.row(first, "priority"), running.job(first)["command"]) == (4, copied)


def test_without_a_clipboard_it_is_one_line_and_nothing_is_stored(home):
    done = home.run("add", "--clipboard", code=None)
    assert done.returncode in (1, 2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert "clipboard" in done.stderr

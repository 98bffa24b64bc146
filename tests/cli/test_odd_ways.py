"""What nobody does on purpose: a reader that leaves the runner alone, jobs named last first, a home that no shell expanded."""

import json
import os
import subprocess
import termios
from pathlib import Path

from harness import LIMIT, OBEDIENT, PROGRAM

from slothtray.model import NEVER

BESIDE_HEAD = '"$@" 2>said | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}'


def test_a_runner_whose_reader_has_enough_works_on_and_tells_how_it_ended(home):
    numbers = [home.enqueue(command) for command in ("true", "true", "exit 7")]
    words = [*PROGRAM, "run", "--until-empty", "--ceiling", "off", "--cooldown", "1s"]
    done = subprocess.run(
        ["bash", "-c", BESIDE_HEAD, "bash", *words], env=home.environment, cwd=home.work, capture_output=True, text=True, timeout=60, check=True
    )
    assert [home.row(number) for number in numbers] == ["done", "done", "failed"]
    assert (done.stdout, home.wrote("said")) == ("1\n", "")
    assert "Traceback" not in Path(home.paths.app_log).read_text()


def test_a_terminal_at_rest_keeps_neither_the_queue_nor_its_end_waiting(home):
    keyboard, terminal = os.openpty()
    words = [*PROGRAM, "run", "--ceiling", "off", "--cooldown", "0.01"]
    process = subprocess.Popen(words, env=home.environment, stdin=terminal, stdout=terminal, stderr=terminal)
    try:
        home.wait_for(home.add("true"), "done")
        termios.tcflow(terminal, termios.TCOOFF)  # Ctrl-S
        for _ in range(2):
            home.wait_for(home.add("true"), "done")
        process.terminate()
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(keyboard)


def test_jobs_that_are_retried_together_wait_for_each_other_again_in_whatever_order_they_are_named(idle):
    first = idle.enqueue("true")
    second = idle.add("--after", str(first), "true")
    idle.run("cancel", str(first))
    idle.run("retry", str(second), str(first))
    assert [idle.row(number, "not_before") for number in (first, second)] == [0, NEVER]


def test_several_jobs_are_cancelled_at_once_so_that_none_starts_in_another_ones_place(idle):
    ids = [idle.enqueue("true") for _ in range(4)]
    idle.run("cancel", str(ids[3]), "99999", str(ids[0]), f"{ids[1]}-{ids[2]}", code=1)
    assert [idle.row(number) for number in ids] == ["cancelled"] * 4
    assert len({idle.row(number, "finished_at") for number in ids}) == 1


def test_a_folder_from_a_variable_that_is_not_set_is_not_the_present_one(idle):
    number = idle.enqueue("true")
    assert "--cwd needs a folder" in idle.run("add", "--cwd", "", "rm -f *", code=2).stderr
    assert "'' is not a folder" in idle.run("edit", str(number), "--cwd", "", code=2).stderr
    assert idle.row(number + 1) is None


def test_a_label_that_is_no_text_finds_nothing(idle):
    idle.enqueue("true")
    assert json.loads(idle.run("list", "--json", "--label", "\udcff").stdout)["jobs"] == []


def test_a_runner_may_go_from_job_to_job_without_a_cooldown_as_the_config_may_say_too(home):
    number = home.enqueue("true")
    home.run("run", "--until-empty", "--cooldown", "0")
    assert home.row(number) == "done"


def test_a_tilde_that_no_shell_has_expanded_is_the_home(home, tmp_path):
    environment = {**home.environment, "HOME": str(tmp_path / "me")}
    home.run("--home=~/queue", "add", "true", env=environment)
    home.run("list", env={**environment, "SLOTHTRAY_HOME": "~/other"})
    assert sorted(path.name for path in (tmp_path / "me").iterdir()) == ["other", "queue"]
    assert list(home.work.iterdir()) == []


def test_a_pipe_in_the_place_of_the_logins_entry_is_not_waited_for(home, tmp_path):
    (tmp_path / "autostart").mkdir()
    os.mkfifo(tmp_path / "autostart" / "slothtray.desktop")
    environment = {**home.environment, "XDG_CONFIG_HOME": str(tmp_path)}
    assert "off" in home.run("autostart", "status", env=environment, timeout=20).stdout
    home.run("autostart", "enable", env=environment)
    assert "enabled" in home.run("autostart", "status", env=environment).stdout


def test_a_folder_that_nobody_may_look_into_is_a_problem_that_doctor_mends(home):
    home.path.mkdir(mode=0)
    words = [*OBEDIENT, *PROGRAM, "doctor", "--json"]
    done = subprocess.run(words, env=home.environment, capture_output=True, text=True, timeout=60, check=False)
    home.path.chmod(0o700)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, checks["folder"]["status"]) == (1, "problem")
    assert checks["folder"]["fix"] == f"chmod 700 {home.path}"

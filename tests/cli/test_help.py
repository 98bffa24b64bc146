"""Help: all of it on a screen, each option with a line, examples that parse, and what was meant by other words."""

import re
import shlex

import pytest

from slothtray.cli import guess
from slothtray.cli.main import find
from slothtray.cli.overview import overview
from slothtray.cli.parser import _nothing_given, parse, parser_for
from slothtray.cli.table import ALIASES, COMMANDS, OTHER_WORDS, TASK_SPOOLER
from slothtray.errors import Usage

SCREEN = 24
LONG = {"add": 36}
"""More options than a screen has lines; no more than this."""


@pytest.fixture(scope="module")
def helps(idle):
    """What `--help` of each command prints, by its name."""
    return {name: idle.run(name, "--help").stdout for name in COMMANDS}


def test_the_overview_has_every_command_and_fits_a_screen(idle):
    said = idle.run("--help")
    assert said.stderr == ""
    lines = said.stdout.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    for command in COMMANDS.values():
        assert re.search(rf"(^|  ){command.name} +{re.escape(command.brief)}(  |$)", said.stdout, re.MULTILINE), command.name
    assert "--home DIR" in said.stdout
    assert "slothtray add" in said.stdout


def test_every_command_has_a_brief_that_fits_its_column():
    assert {name: command.brief for name, command in COMMANDS.items() if not 0 < len(command.brief) <= 26} == {}


def test_help_is_found_under_the_words_that_people_try(idle):
    for words in (["-h"], ["help"], ["help", "list"], ["list", "-h"], ["--home", "/x", "help", "status"]):
        wanted = overview() + "\n" if len(words) == 1 else idle.run("list", "--help").stdout
        assert idle.run(*words).stdout == wanted
    assert "there is no command 'nothing'" in idle.run("help", "nothing", code=2).stderr


def test_the_version_is_told(idle):
    assert re.fullmatch(r"slothtray \d+\.\d+\.\d+\S*\n", idle.run("--version").stdout)


def test_asking_for_help_makes_no_folder(home):
    home.run("add", "--help")
    home.run("--help")
    assert not home.path.exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_commands_help_fits_a_screen_and_has_examples(helps, name):
    lines = helps[name].splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= LONG.get(name, SCREEN)
    assert lines[0].startswith(f"usage: slothtray {name}")
    assert COMMANDS[name].summary in helps[name]
    assert "examples:\n  slothtray " in helps[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_one_line_in_its_commands_help(helps, name):
    for option in COMMANDS[name].options:
        names = ", ".join(option.names) + (f" {option.metavar}" if option.metavar else "")
        found = [line for line in helps[name].splitlines() if line.startswith(f"  {names} ")]
        assert len(found) == 1, names
        assert found[0].endswith(option.help)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_parsed_and_is_of_its_command(name):
    for example in COMMANDS[name].examples:
        words = shlex.split(re.split(r" (?:&&|\||>) ", example)[0].replace('"$(', "").replace(')"', ""))
        words = words[words.index("slothtray") + 1 :]
        assert words[0] == name
        assert parse(find(words[0]), words[1:]).command is COMMANDS[name]


FOREIGN = {
    # pueue's
    "follow": "log -f", "kill": "cancel", "clean": "prune", "stash": "hold", "enqueue": "release", "remove": "cancel",
    "restart": "retry", "reset": "prune", "switch": "edit -p", "completions": "completion", "env": "add --env",
    # nq's, at's, and what people just try
    "tail": "log -f", "atq": "list", "atrm": "cancel", "rm": "cancel", "submit": "add", "info": "show", "unpause": "resume",
}


@pytest.mark.parametrize("word", FOREIGN)
def test_words_of_other_queues_get_the_one_that_is_meant(word):
    known = FOREIGN[word].split()[0] in COMMANDS
    assert guess.command(word) == (f"did you mean `slothtray {FOREIGN[word]}`?" if known else "see `slothtray --help`")


@pytest.mark.parametrize("word", ["-l", "-c", "-k", "-C", "-w", "-S"])
def test_task_spoolers_options_get_the_command_that_is_meant(word):
    meant = TASK_SPOOLER[word]
    assert guess.option(word) == (meant if " is " in meant else f"did you mean `slothtray {meant}`?")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kill", "1"], "there is no command 'kill': did you mean `slothtray cancel`?"),
        (["group"], "there is no command 'group': one queue folder is one lane: slothtray --home DIR is another"),
        (["-t", "1"], "there is no option -t: did you mean `slothtray log -f`?"),
    ],
    ids=str,
)
def test_the_hint_is_in_the_one_line_of_the_error(idle, words, said):
    done = idle.run(*words, code=2)
    assert (done.stdout, done.stderr) == ("", f"slothtray: {said}\n")


def test_every_foreign_word_has_a_hint_and_none_is_a_command_of_ours():
    for word in OTHER_WORDS:
        assert word not in COMMANDS
        assert word not in ALIASES
        assert guess.command(word)
    for word in TASK_SPOOLER:
        assert guess.option(word) != guess.SEE_HELP


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("lits", "did you mean `slothtray list`?"),
        ("cancle", "did you mean `slothtray cancel`?"),
        ("statsu", "did you mean `slothtray status`?"),
        ("hepl", "did you mean `slothtray help`?"),
        ("make -j4", "did you mean `slothtray add 'make -j4'`?"),
        ("gcc", "see `slothtray --help`; `slothtray add gcc` would queue it"),
    ],
)
def test_a_slip_or_a_missing_add_is_seen_through(word, hint):
    with pytest.raises(Usage) as caught:
        find(word)
    assert caught.value.message == hint


def test_a_slip_in_an_option_is_seen_through_too(idle):
    assert "`slothtray add` has no option --prority: did you mean --priority?" in idle.run("add", "--prority", "5", "true", code=2).stderr
    assert "`slothtray wait` has no option --time: did you mean --timeout?" in idle.run("wait", "--time=5", code=2).stderr
    assert "`slothtray list` has no option -z: see `slothtray list --help`" in idle.run("list", "-z", code=2).stderr


def test_options_may_be_written_in_every_usual_way(idle):
    for words in (["-p", "5"], ["-p5"], ["-p=5"], ["--priority", "5"], ["--priority=5"]):
        assert idle.row(idle.add(*words, "true"), "priority") == 5
    ids = [idle.enqueue("true") for _ in range(2)]
    assert idle.run("list", "-n1", "--json").stdout == idle.run("list", "--json", "--limit=1").stdout
    assert idle.run("show", "--json", str(ids[0])).stdout == idle.run("show", str(ids[0]), "--json").stdout


@pytest.mark.parametrize("command", list(COMMANDS.values()), ids=lambda command: command.name)
def test_without_options_a_command_is_as_argparse_would_have_it(command):
    assert _nothing_given(command) == parser_for(command).parse_args([])

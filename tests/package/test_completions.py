"""The completions in the real shells: what each would offer, on a queue with two jobs in it."""

import os
import shlex
import subprocess
import sys

import pytest
from harness import Home

from slothtray.cli.commands.completion import FILES
from slothtray.cli.table import COMMANDS, STATES

END = "-- end --"

BASH = f"""
source "$1"; shift 2
function=$(complete -p slothtray | sed -n 's/.* -F \\([^ ]*\\) slothtray$/\\1/p')
for line; do
  read -ra COMP_WORDS <<< "$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
  "$function" slothtray "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
  printf '%s\\n' "${{COMPREPLY[@]}}" '{END}'
done
"""

FISH = f"""
source $argv[1]
for line in $argv[3..]
  complete -C $line
  echo '{END}'
end
"""

# A real line editor in a terminal of its own. What it would show goes to a file: a screen would have to be read.
ZSH = f"""
zmodload zsh/zpty
file=$1 out=$2; shift 2
begin() {{ zpty -w shell "$1" }}
until_there() {{ until eval "$1"; do sleep 0.02; while zpty -r -t shell said; do print -r -- "$said" >> $out.screen; done; done }}
zpty shell zsh -f -i
begin "fpath=(${{file:h}} \\$fpath); autoload -Uz compinit; compinit -u -D; out=$out"
begin 'compadd() {{
  local -a found
  [[ " $* " == *" -"[OAD]" "* ]] || {{ builtin compadd -A found "$@"; print -rl -- $found >> $out }}
  builtin compadd "$@"
}}'
begin 'look() {{ _main_complete; print -r -- "{END}" >> $out; compstate[insert]=; compstate[list]= }}'
begin 'zle -C look complete-word look; bindkey "^I" look; print > $out.begun'
until_there '[[ -e $out.begun ]]'
typeset -i count=0
for line; do
  count+=1
  zpty -w -n shell $'\\C-u'"$line"$'\\t'
  until_there '[[ -e $out ]] && (( $(grep -cxF -e "{END}" $out) >= count ))'
done
zpty -d shell
cat $out
"""

SHELLS = {"bash": ["bash", "--norc", "-c", BASH, "bash"], "zsh": ["zsh", "-f", "-c", ZSH, "zsh"], "fish": ["fish", "--no-config", "-c", FISH]}

CASES = {
    "slothtray ": set(COMMANDS),
    "slothtray canc": {"cancel"},
    "slothtray cancel ": {"1", "2"},
    "slothtray cancel 1 ": {"1", "2"},
    "slothtray show --json ": {"1", "2"},
    "slothtray add --after ": {"1", "2"},
    "slothtray list --st": {"--state"},
    "slothtray list --state ": set(STATES),
    "slothtray list --state can": {"cancelled"},
    "slothtray config ": {"get", "set", "unset", "path"},
    "slothtray config set c": {"ceiling", "cooldown"},
    "slothtray completion ": set(FILES),
    "slothtray --home some": {"some_folder"},
    "slothtray --not": {"--notify"},
    "slothtray --notify canc": {"cancel"},
    "slothtray doctor --not": {"--notify"},
    "slothtray add --cwd some": {"some_folder"},
    "slothtray add --env KEPT_V": {"KEPT_VARIABLE"},
    "slothtray add -p 5 ls some": {"some_file", "some_folder"},
}
COMMAND_NAMES = "slothtray add fals"
"""The job's own program; other packages may have some that begin so, too."""


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    """A queue with two jobs; what is said of them has all that means something to a shell."""
    home = Home(tmp_path_factory.mktemp("completed") / "queue")
    for command in ("echo 'a: b' $(c) `d`", 'echo "[x]" \\ %s'):
        home.run("add", "--hold", command)
    (home.work / "some_folder").mkdir()
    (home.work / "some_file").touch()
    return home


@pytest.fixture(scope="module", params=SHELLS)
def offered(request, queue, tmp_path_factory):
    """What one shell offers for each of the lines."""
    folder = tmp_path_factory.mktemp(request.param)
    program = folder / "bin" / "slothtray"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m slothtray "$@"\n')
    program.chmod(0o755)
    script = folder / FILES[request.param]
    script.write_text(queue.run("completion", request.param).stdout)
    lines = [*CASES, COMMAND_NAMES]
    here = {"PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb", "KEPT_VARIABLE": "1", "HOME": str(folder)}
    done = subprocess.run(
        [*SHELLS[request.param], script, folder / "out", *lines], cwd=queue.work, env={**queue.environment, **here},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    *answers, rest = done.stdout.split(f"{END}\n")
    assert rest == ""
    words = [{line.split("\t")[0].rstrip("/ ") for line in answer.splitlines() if line.strip()} for answer in answers]
    return dict(zip(lines, words, strict=True))


def test_every_shell_offers_commands_options_values_and_ids(offered):
    assert {line: offered[line] for line in CASES} == CASES
    assert "false" in offered[COMMAND_NAMES]

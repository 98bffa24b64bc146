"""What was meant by a word that is none of ours: the hint after "there is no command …". Pure."""

import difflib
import shlex

from slothtray.cli.table import ALIASES, COMMANDS, OTHER_WORDS, TASK_SPOOLER

SEE_HELP = "see `slothtray --help`"


def command(word: str) -> str:
    """A hint for an unknown command: another queue's word for it, a slip of the hand, or a job without ``add``."""
    if word in OTHER_WORDS:
        return _hint(OTHER_WORDS[word])
    if " " in word.strip():
        return f"did you mean `slothtray add {shlex.quote(word)}`?"
    near = difflib.get_close_matches(word, [*COMMANDS, *ALIASES, "help"], n=1, cutoff=0.6)
    return _hint(near[0]) if near else f"{SEE_HELP}; `slothtray add {shlex.quote(word)}` would queue it"


def option(word: str) -> str:
    """A hint for an unknown option in a command's place: task-spooler's are."""
    return _hint(TASK_SPOOLER[word]) if word in TASK_SPOOLER else SEE_HELP


def _hint(meant: str) -> str:
    known = meant.startswith("-") or meant.split(maxsplit=1)[0] in COMMANDS or meant in ALIASES or meant == "help"
    return f"did you mean `slothtray {meant}`?" if known else (meant if " " in meant else SEE_HELP)

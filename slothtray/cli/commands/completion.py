"""`slothtray completion`: the script that makes a shell complete our words; made from the table by `packaging/completions.py`."""

from slothtray import assets
from slothtray.cli.parser import Parsed
from slothtray.errors import Usage
from slothtray.paths import Paths

FILES = {"bash": "slothtray.bash", "zsh": "_slothtray", "fish": "slothtray.fish"}
"""What each shell looks for in its own folder, but bash, which wants no ending there."""


def run(parsed: Parsed, paths: Paths) -> int:
    """Print it."""
    del paths
    shell = parsed.words[0]
    if shell not in FILES:
        raise Usage(f"there is no completion for {shell!r}", "use bash, zsh or fish")
    with open(assets.path(f"completions/{FILES[shell]}"), encoding="utf-8") as file:
        print(file.read(), end="")
    return 0

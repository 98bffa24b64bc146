"""The settings of `config.toml` (DESIGN 14).

`keys` and `values` say what there is, `reading` what is in force, `editing` changes the file, `statements` finds the places in it.
"""

from slothtray.config.keys import KEYS, Config, defaults
from slothtray.config.reading import Reading, Watched, load, parse

__all__ = ["KEYS", "Config", "Reading", "Watched", "defaults", "load", "parse"]

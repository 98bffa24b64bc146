"""Runs first in the frozen app: gives jobs the library path that the person has, not the one PyInstaller needs for us."""

import os

# The loader has read it by now; what we start would take our libraries for the system's.
_theirs = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if _theirs is not None:
    os.environ["LD_LIBRARY_PATH"] = _theirs
else:
    os.environ.pop("LD_LIBRARY_PATH", None)

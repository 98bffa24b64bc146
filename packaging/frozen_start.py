"""Runs first in the frozen app: jobs get the environment that the person has, not what PyInstaller has put there for us."""

import os

# The loader has read them by now; what we start would take our libraries for the system's.
_theirs = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if _theirs is not None:
    os.environ["LD_LIBRARY_PATH"] = _theirs
else:
    os.environ.pop("LD_LIBRARY_PATH", None)
for _name in [name for name in os.environ if name.startswith("_PYI_")]:
    del os.environ[_name]

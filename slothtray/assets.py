"""Where the icons and other data files are: in the installed package, or in the checkout beside it."""

import os


def path(name: str) -> str:
    """The absolute path of an asset; FileNotFoundError when neither the wheel nor the checkout has it."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.join(here, "_assets"), os.path.join(os.path.dirname(here), "assets")):
        candidate = os.path.join(folder, name)
        if os.path.exists(candidate):
            return candidate
    raise FileNotFoundError(name)

"""Which environment a job gets: what is kept of the shell it was added from, what is taken fresh at its start (DESIGN 9). Pure."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

SESSION = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
"""Belong to a login, not to a job: by the time it starts there may be another one."""
AGENT = "SSH_AUTH_SOCK"
SECRET_PARTS = frozenset(
    {
        *("TOKEN", "SECRET", "KEY", "APIKEY", "PAT", "CREDENTIAL", "CREDENTIALS"),
        *("PASS", "PASSWD", "PASSWORD", "PASSPHRASE", "SSHPASS", "PWD"),
    }
)
NEVER_SECRET = frozenset({"PWD", "OLDPWD"})
NOT_SECRET_ENDINGS = ("_FILE", "_COMMAND")
"""Name a place where a secret is, not the secret."""


def looks_secret(name: str) -> bool:
    """Whether a variable's name says that its value should not lie in a database file."""
    upper = name.upper()
    if upper in NEVER_SECRET or upper.endswith(NOT_SECRET_ENDINGS):
        return False
    return not SECRET_PARTS.isdisjoint(upper.split("_"))


def capture(environment: "Mapping[str, str]", keep: "Collection[str]" = ()) -> tuple[dict[str, str], list[str]]:
    """What is stored with a job, and the names of what was dropped because it looks secret; ``keep`` names exceptions."""
    kept, dropped = {}, []
    for name, value in environment.items():
        if name in SESSION:
            continue
        if looks_secret(name) and name not in keep:
            dropped.append(name)
        else:
            kept[name] = value
    return kept, sorted(dropped)


def for_job(
    captured: "Mapping[str, str] | None", app: "Mapping[str, str]", alive: "Callable[[str], bool]", own: "Mapping[str, str]"
) -> dict[str, str]:
    """The environment a job starts with: the captured one (None: the app's), the session's variables from the app, and ``own``.

    A session variable that is among the captured ones was given with --env: it stays. ``alive`` tells whether an agent's
    socket still answers.
    """
    job = {name: app[name] for name in SESSION if name in app} | dict(app if captured is None else captured)
    agent = app.get(AGENT)
    if agent and alive(agent):
        job[AGENT] = agent
    job.pop("GPG_TTY", None)  # the terminal it names is another's by then
    return {**job, "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", **own}

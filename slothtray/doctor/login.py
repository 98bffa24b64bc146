"""Judges what starts slothtray: the login's entry, the user service, and whether that outlives a logout."""

from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check
from slothtray.system.ports import LoginState

LINGER = "loginctl enable-linger"


def autostart(state: LoginState) -> Check:
    """The entry of the tray application."""
    return _judge("autostart", state, "slothtray autostart enable", "starts at login")


def headless(state: LoginState | None, login: LoginState) -> Check:
    """The user service. With both, one of the two is always too late."""
    if state is None:
        return Check("headless", OK, "not on this system")
    if state.enabled and login.enabled:
        fix = "slothtray autostart disable --headless"
        return Check("headless", WARNING, "tray and service both start at login: the second one ends", fix)
    return _judge("headless", state, "slothtray autostart enable --headless", "runs the queue without a desktop")


def _judge(name: str, state: LoginState, enable: str, what: str) -> Check:
    if state.enabled:
        return Check(name, OK, f"{what}: {state.place}")
    if "is gone" in state.problem or "starts nothing" in state.problem:
        return Check(name, PROBLEM, f"{state.place}: {state.problem}", enable)
    if state.problem:
        return Check(name, OK, f"off: {state.problem}")
    return Check(name, OK, f"off; `{enable}` sets it up")


def linger(on: bool | None, service: LoginState | None) -> Check:  # noqa: FBT001 - the one fact that is judged
    """``on``: None without systemd."""
    if on is None:
        return Check("linger", OK, "no systemd here: what a logout ends runs again at the next login")
    if on:
        return Check("linger", OK, "on: services and jobs outlive a logout")
    if service is not None and service.enabled:
        return Check("linger", WARNING, "off: the service starts with a login and ends with the logout", LINGER)
    return Check("linger", OK, f"off: a logout interrupts the running job, which runs again later; `{LINGER}` keeps it")

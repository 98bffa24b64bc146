"""What the tests of notifications share: a notice, a server that notes what it is told, and a text as dunst keeps it."""

import session

from slothtray.model import Notice


def notice(title, body="", *, job=None, urgent=False, **more):
    return Notice(job, title, body, urgent, **more)


OFFERS = ("open_log", "retry")


def server(bus, capabilities=("body",), number=7, **answers):
    numbers = iter(range(number, number + 100))
    answers = {
        "GetCapabilities": lambda: ("as", (list(capabilities),)),
        "Notify": lambda _app, replaces, *_: ("u", (replaces or next(numbers),)),
        "CloseNotification": lambda _number: ("", ()),
        **answers,
    }
    return session.StandIn(bus, session.NOTIFICATIONS, answers)


def notified(stand_in):
    return [body for member, body in stand_in.calls if member == "Notify"]


def shown(body):
    """What dunst's history gives for a text: it keeps the body as the markup that was sent."""
    return body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def bus_name(notifier):
    return notifier._bubbles._worker._service._bus._connection.unique_name

"""Notification services, good and bad: none, one that hangs, one that refuses, one that comes later."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import session
from told import bus_name, notice, notified, server

from slothtray.system import notify
from slothtray.system.ports import NotifyFailed


def test_plyer_is_the_front(desktop, notifier):
    import plyer

    notifier.notify(notice("through us"))
    plyer.notification.notify(title="--version", message="through plyer itself")
    assert {bubble["summary"] for bubble in desktop.history()} == {"--version", "through us"}


def test_a_server_without_markup_gets_the_text_unescaped(session_bus, notifier):
    with server(session_bus) as plain:
        notifier.notify(notice("t", "<b>&"))
    [(app, _replaces, icon, _title, body, actions, hints, _timeout)] = notified(plain)
    assert (app, icon, body, actions) == ("slothtray", "/icons/sloth.png", "<b>&", [])
    assert hints["desktop-entry"] == ("s", "slothtray")


def test_a_program_that_ends_at_once_does_not_say_whose_its_bubble_is_or_gnome_would_take_it_away(session_bus):
    with server(session_bus) as plain:
        passing = notify.system_notifier(passing=True)
        passing.notify(notice("t", "b"))
        passing.close()
    assert "desktop-entry" not in notified(plain)[0][6]


def test_a_restarted_server_is_never_asked_to_replace_another_programs_bubble(session_bus, notifier):
    with server(session_bus, number=3):
        notifier.notify(notice("a", job=5))
    with server(session_bus, capabilities=["body-markup"], number=4) as second:
        notifier.notify(notice("b", "<", job=5))
        notifier.notify(notice("c", "<", job=5))
    first, again = notified(second)
    assert (first[1], first[4]) == (0, "&lt;")
    assert again[1] == 4


def test_the_connection_is_kept_and_made_anew_when_the_bus_was_restarted(session_bus, tmp_path, notifier):
    with server(session_bus) as first:
        notifier.notify(notice("a"))
        notifier.notify(notice("b"))
    assert len(notified(first)) == 2
    assert [member for member, _ in first.calls].count("GetCapabilities") == 1
    session_bus.process.kill()
    session_bus.process.wait()
    with pytest.raises(NotifyFailed, match="the session bus can't be reached"):
        notifier.notify(notice("nobody there"))
    for text in "cd":  # c after that failure, d on a bus that was restarted since
        with session.message_bus_in(tmp_path) as again, server(again) as second:
            notifier.notify(notice(text))
        assert [body[3] for body in notified(second)] == [text]


def test_signals_that_nobody_read_are_no_hindrance(session_bus, notifier):
    with server(session_bus) as busy:
        notifier.notify(notice("a"))
        sender = bus_name(notifier)
        for number in range(2000):
            message = session.new_signal(
                session.DBusAddress("/org/freedesktop/Notifications", interface=session.NOTIFICATIONS),
                "NotificationClosed", "uu", (number, 1),
            )  # fmt: skip
            message.header.fields[session.HeaderFields.destination] = sender
            busy.connection.send(message)
        notifier.notify(notice("b"))
    assert [body[3] for body in notified(busy)] == ["a", "b"]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (None, r"no session bus \(DBUS_SESSION_BUS_ADDRESS is not set\)"),
        ("unix:path=/nonexistent/bus", "the session bus can't be reached: No such file or directory"),
        ("tcp:host=localhost,port=1", "the session bus can't be reached: .*not supported"),
        ("nonsense", "the session bus can't be reached: "),
    ],
)
def test_no_bus_is_a_reason_in_one_line(monkeypatch, tmp_path, address, reason, notifier):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    with pytest.raises(NotifyFailed, match=reason) as caught:
        notifier.notify(notice("t", "b"))
    assert "\n" not in str(caught.value)


def test_without_the_variable_the_logins_own_socket_is_found(message_bus, monkeypatch, notifier):
    socket = Path(message_bus.socket)
    (socket.parent / "bus").symlink_to(socket)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(socket.parent))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    with server(message_bus) as found:
        notifier.notify(notice("t"))
    assert len(notified(found)) == 1


def test_a_bus_without_a_daemon_says_what_to_install(session_bus, notifier):
    with pytest.raises(NotifyFailed, match=r"no notification service is running: .*install one such as dunst"):
        notifier.notify(notice("t"))


def test_a_daemon_that_comes_later_is_found(session_bus, notifier):
    with pytest.raises(NotifyFailed):
        notifier.notify(notice("t"))
    with server(session_bus) as late:
        notifier.notify(notice("now"))
    assert [body[3] for body in notified(late)] == ["now"]


def test_a_daemon_that_refuses_is_quoted_in_one_line(session_bus, notifier):
    answers = {"GetCapabilities": lambda: ("as", ([],))}
    with (
        session.StandIn(session_bus, session.NOTIFICATIONS, answers),
        pytest.raises(NotifyFailed, match=r"^the notification service refused: org\.example\.Error\.No: not today$"),
    ):
        notifier.notify(notice("t"))


@pytest.fixture
def impatient(notifier):
    notifier._bubbles.timeout = 0.3
    return notifier


@contextmanager
def gives_up_in_time(reason):
    before = time.monotonic()
    with pytest.raises(NotifyFailed, match=reason):
        yield
    assert 0.25 <= time.monotonic() - before < 3


def test_the_time_limit_is_three_seconds(notifier):
    assert notifier._bubbles.timeout == 3


def test_a_hung_daemon_costs_the_time_limit_and_no_more(session_bus, impatient):
    mute = {"GetCapabilities": lambda: None}
    with (
        session.StandIn(session_bus, session.NOTIFICATIONS, mute),
        gives_up_in_time("the notification service did not answer"),
    ):
        impatient.notify(notice("t"))
    with server(session_bus) as well:
        impatient.notify(notice("after"))
    assert [body[3] for body in notified(well)] == ["after"]


def test_a_daemon_that_hangs_later_costs_the_time_limit_and_no_more(desktop, impatient):
    impatient.notify(notice("before"))
    desktop.process.send_signal(signal.SIGSTOP)
    with gives_up_in_time("the notification service did not answer"):
        impatient.notify(notice("while"))
    desktop.process.send_signal(signal.SIGCONT)
    impatient.notify(notice("after"))
    assert {"before", "after"} <= {bubble["summary"] for bubble in desktop.history()}


def test_a_stopped_bus_costs_the_time_limit_and_no_more(session_bus, impatient):
    with server(session_bus):
        impatient.notify(notice("connected"))
        session_bus.process.send_signal(signal.SIGSTOP)
        with gives_up_in_time("did not answer"):
            impatient.notify(notice("over the old connection"))
        with gives_up_in_time("the session bus does not answer"):
            impatient.notify(notice("over a new one"))
        session_bus.process.send_signal(signal.SIGCONT)
        impatient.notify(notice("well again"))


def test_a_bus_that_never_answers_its_hello_costs_the_time_limit_and_no_more(tmp_path, monkeypatch, impatient):
    with session.message_bus_in(tmp_path, answers=False) as bus:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        with gives_up_in_time("the session bus does not answer"):
            impatient.notify(notice("t"))


def test_nothing_of_plyer_or_jeepney_is_imported_before_the_first_notice():
    code = "import sys; from slothtray.system import notify; notify.system_notifier(); print({'plyer', 'jeepney'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

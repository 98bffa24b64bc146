"""Notifications as a real daemon shows them, and what happens where there is none."""

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import session

from slothtray.model import Notice
from slothtray.system import notify
from slothtray.system.ports import NotifyFailed


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


@pytest.fixture
def notifier():
    made = notify.system_notifier("/icons/sloth.png")
    yield made
    made.close()


@pytest.fixture
def desktop(session_bus, display, tmp_path):
    with session.dunst(session_bus, display, tmp_path) as running:
        yield running


def shown(body):
    """What dunst's history gives for a text: it keeps the body as the markup that was sent."""
    return body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("--help", "usage: nothing"),
        ("--urgency=critical", "-5 is the exit code"),
        ("-5 is the exit code", "--help"),
        ('<b>&"', '<b>bold</b> & "quoted" \'single\' 1 < 2 && y &amp; <a href="x">l</a>'),
        ("a & b", "first line\nsecond line"),
        ("🦥 שלום", "你好 é"),
        ("only a title", ""),
    ],
)
def test_text_is_shown_as_it_is(desktop, title, body, notifier):
    notifier.notify(notice(title, body))
    [bubble] = desktop.history()
    assert (bubble["summary"], bubble["body"], bubble["appname"]) == (title, shown(body), "slothtray")


def test_what_a_bubble_cannot_carry_is_made_visible_and_cut(desktop, notifier):
    notifier.notify(notice("nul \0 half \udcff", "esc \x1b[31m\u202egpj.sh\nnul \0 half \udcff", job=1))
    notifier.notify(notice("L" * 300, "🦥" * 1000, job=2))
    notifier.notify(notice(" \n\t ", "no title", job=3))
    odd, long, untitled = desktop.history()
    assert (odd["summary"], odd["body"]) == ("nul ␀ half �", "esc ␛[31mgpj.sh\nnul ␀ half �")
    assert (long["summary"], long["body"]) == ("L" * 62 + "…", "🦥" * 127 + "…")
    assert untitled["summary"] == "slothtray"


def test_an_urgent_notice_is_critical_and_stays(desktop, notifier):
    notifier.notify(notice("ordinary"))
    notifier.notify(notice("urgent", urgent=True))
    ordinary, urgent = desktop.history()
    assert (ordinary["category"], ordinary["timeout"]) == ("", 10_000_000)  # dunst counts in microseconds
    assert (urgent["category"], urgent["timeout"]) == ("critical", 0)


def test_a_job_has_one_bubble_and_the_rest_have_their_own(desktop, notifier):
    for text, job in (("failed", 5), ("other", 6), ("failed again", 5), ("no job", None), ("nor this", None)):
        notifier.notify(notice(text, job=job))
    assert sorted(bubble["summary"] for bubble in desktop.history()) == ["failed again", "no job", "nor this", "other"]


# --- what is chosen in a bubble ---------------------------------------------------------------------------------------


class Chosen:
    """What was chosen: titles and offers."""

    def __init__(self, notifier):
        self.all = []
        notifier.listen(self)

    def __call__(self, notice, offer):
        self.all.append((notice.title, offer))
        if notice.title == "bad":
            raise ZeroDivisionError

    def wait(self, *wanted):
        session.until(lambda: self.all == list(wanted))


def tells(stand_in, member, *body, signature="us"):
    stand_in.emit("/org/freedesktop/Notifications", session.NOTIFICATIONS, member, signature, body)


def test_what_is_chosen_in_a_real_bubble_comes_back_with_its_notice(desktop, notifier):
    chosen = Chosen(notifier)
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=OFFERS))
    desktop.choose("Retry")
    chosen.wait(("Failed: make", "retry"))
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=OFFERS))
    desktop.choose("Open log")
    chosen.wait(("Failed: make", "retry"), ("Failed: make", "open_log"))


def test_a_click_on_the_bubble_itself_opens_the_log(desktop, notifier):
    chosen = Chosen(notifier)
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=("open_log",)))
    desktop.click()
    chosen.wait(("Failed: make", "open_log"))


def test_one_notice_about_several_takes_the_place_of_those_about_each_and_is_kept_up_to_date(desktop, notifier):
    chosen = Chosen(notifier)
    for job in (5, 6):
        notifier.notify(notice(f"Failed: {job}", job=job, urgent=True))
    assert desktop.displayed() == 2
    several = {"urgent": True, "offers": OFFERS}
    notifier.notify(notice("3 jobs failed", covers=(5, 6, 7), **several))
    assert desktop.displayed() == 1
    notifier.notify(notice("4 jobs failed", covers=(5, 6, 7, 8), **several))
    assert desktop.displayed() == 1
    desktop.choose("Retry all")
    chosen.wait(("4 jobs failed", "retry"))


def test_a_notice_that_is_no_longer_true_is_taken_from_the_screen(desktop, notifier):
    for job in (5, 6):
        notifier.notify(notice(f"Failed: {job}", job=job, urgent=True))
    for job in (5, 5, 7):
        notifier.withdraw(job)
    assert desktop.displayed() == 1
    notifier.notify(notice("again", job=5))  # nothing is left that it could replace
    assert desktop.displayed() == 2


def test_withdrawing_before_the_first_notice_is_nothing(notifier):
    notifier.withdraw(5)


def test_a_server_without_buttons_gets_none(session_bus, notifier):
    with server(session_bus) as plain:
        notifier.notify(notice("t", job=5, offers=OFFERS))
    assert notified(plain)[0][5] == []


def test_buttons_are_named_for_what_they_do(session_bus, notifier):
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("t", job=5, offers=OFFERS))
        notifier.notify(notice("t", job=6, offers=("open_log", "release")))
        notifier.notify(notice("t", offers=OFFERS, covers=(5, 6)))
        notifier.notify(notice("t"))
    log = ["default", "Open log", "open_log", "Open log"]
    wanted = [[*log, "retry", "Retry"], [*log, "release", "Release"], [*log, "retry", "Retry all"], []]
    assert [call[5] for call in notified(able)] == wanted


def test_a_choice_is_heard_also_after_the_closing_and_while_another_notice_is_shown(session_bus, notifier):
    def closing_first(_app, _replaces, _icon, title, *_):
        if title == "second":
            tells(able, "NotificationClosed", 7, 2, signature="uu")
            tells(able, "ActionInvoked", 7, "retry")  # on its way before the answer
        return "u", (7 if title == "first" else 8,)

    chosen = Chosen(notifier)
    with server(session_bus, ["actions"], Notify=closing_first) as able:
        notifier.notify(notice("first", job=5, offers=OFFERS))
        notifier.notify(notice("second", job=6, offers=OFFERS))
        chosen.wait(("first", "retry"))


def test_only_what_the_server_says_of_our_own_bubbles_and_offers_counts(session_bus, notifier):
    chosen = Chosen(notifier)
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("ours", job=5, offers=OFFERS))
        with session_bus.connection() as stranger:
            address = session.DBusAddress("/org/freedesktop/Notifications", interface=session.NOTIFICATIONS)
            message = session.new_signal(address, "ActionInvoked", "us", (7, "open_log"))
            message.header.fields[session.HeaderFields.destination] = bus_name(notifier)
            stranger.send(message)
            session.Proxy(session.message_bus, stranger).GetId()  # answered: so the bus has passed the signal on
        tells(able, "ActionInvoked", 99, "retry")
        tells(able, "ActionInvoked", 7, "format-disk")
        tells(able, "ActionInvoked", 7, "retry")
        chosen.wait(("ours", "retry"))


def test_a_closed_bubble_is_not_replaced(session_bus, notifier):
    with server(session_bus) as service:
        notifier.notify(notice("a", job=5))
        tells(service, "NotificationClosed", 7, 2, signature="uu")
        session.until(lambda: not notifier._bubbles._worker._service._numbers)
        notifier.notify(notice("b", job=5))
        notifier.notify(notice("c", job=5))
    assert [call[1] for call in notified(service)] == [0, 0, 8]


def test_a_listener_that_fails_is_survived(session_bus, notifier, caplog):
    chosen = Chosen(notifier)
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("bad", job=5, offers=OFFERS))
        tells(able, "ActionInvoked", 7, "retry")
        chosen.wait(("bad", "retry"))
        notifier.notify(notice("good", job=6, offers=OFFERS))
        tells(able, "ActionInvoked", 8, "retry")
        chosen.wait(("bad", "retry"), ("good", "retry"))
    assert "ZeroDivisionError" in caplog.text


def test_waiting_for_a_choice_wakes_nobody(session_bus, notifier):
    def switches():
        text = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        return re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1]

    with server(session_bus):
        notifier.notify(notice("t", job=5, offers=OFFERS))
        thread = notifier._bubbles._worker._thread
        session.until(lambda: (before := switches()) and not time.sleep(0.1) and before == switches())
        before = switches()
        time.sleep(1)  # the time is what is asked about
        assert switches() == before


def bus_name(notifier):
    return notifier._bubbles._worker._service._bus._connection.unique_name


# --- services, good and bad -------------------------------------------------------------------------------------------


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

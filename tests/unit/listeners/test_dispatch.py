"""Telling a realm's listeners, and what the listener `jboss-logging` writes. Keycloak: 10.6."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest
import structlog
from structlog.testing import CapturingLogger

from gateway.domain.events import UserEvent
from gateway.domain.realm import EventsConfig, Realm
from gateway.listeners import LISTENERS, Dispatch, JbossLogging, Listener, ListenerOptions
from tests.support.stored_events import user_event

_FAILED = user_event("1", error="invalid_user_credentials")


class _Remembering:
    """Remembers what it hears, if it listens."""

    def __init__(self, *, listens: bool = True) -> None:
        self.listens = listens
        self.heard: list[UserEvent] = []

    def wants(self, _realm: Realm, _name: str, *, failed: bool) -> bool:
        """Listen to everything, or to nothing."""
        del failed
        return self.listens

    def on_event(self, _realm: Realm, event: UserEvent) -> None:
        """Remember the event."""
        self.heard.append(event)


class _Failing(_Remembering):
    """Fails at each event."""

    def on_event(self, _realm: Realm, event: UserEvent) -> None:
        """Fail."""
        raise ZeroDivisionError(event.id)


def _realm(*listeners: str) -> Realm:
    return Realm(id="demo-id", name="demo", events=EventsConfig(listeners=listeners))


def _log(capture: CapturingLogger, level: int = logging.INFO) -> Any:
    return structlog.wrap_logger(
        capture,
        processors=[structlog.processors.EventRenamer("text")],
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )


def _dispatch(
    listeners: Mapping[str, Listener], capture: CapturingLogger | None = None
) -> Dispatch:
    return Dispatch(listeners, _log(capture or CapturingLogger()))


def test_those_are_told_whom_the_realm_names() -> None:
    named, other = _Remembering(), _Remembering()
    dispatch = _dispatch({"named": named, "other": other})
    dispatch.publish(_realm("named", "of-another-version"), _FAILED)
    assert (named.heard, other.heard) == ([_FAILED], [])
    assert dispatch.names == {"named", "other"}


def test_who_does_not_listen_is_not_told() -> None:
    deaf = _Remembering(listens=False)
    dispatch = _dispatch({"deaf": deaf})
    assert dispatch.receivers(_realm("deaf"), "LOGIN_ERROR", failed=True) == (False, ())
    dispatch.publish(_realm("deaf"), _FAILED)
    assert deaf.heard == []


def test_nobody_wants_the_events_of_a_realm_without_listeners() -> None:
    one = _dispatch({"one": _Remembering()})
    assert one.receivers(_realm(), "LOGIN_ERROR", failed=True) == (False, ())
    assert one.receivers(_realm("one"), "LOGIN_ERROR", failed=True) == (True, ())


def test_a_failing_listener_disturbs_no_other_and_no_request() -> None:
    capture, other = CapturingLogger(), _Remembering()
    dispatch = _dispatch({"failing": _Failing(), "other": other}, capture)
    dispatch.publish(_realm("failing", "other"), _FAILED)
    assert other.heard == [_FAILED]
    [call] = capture.calls
    assert (call.method_name, call.kwargs["listener"]) == ("error", "failing")


def test_the_log_has_failures_as_warnings() -> None:
    capture = CapturingLogger()
    listener = LISTENERS["jboss-logging"](ListenerOptions(log=_log(capture)))
    assert isinstance(listener, JbossLogging)
    listener.on_event(_realm(), _FAILED)
    [call] = capture.calls
    assert call.method_name == "warning"
    assert call.kwargs == {
        "text": "event",
        "type": "LOGIN_ERROR",
        "realm_id": "demo-id",
        "client": "app",
        "user": "john",
        "session": "session",
        "remote_address": "192.0.2.1",
        "error": "invalid_user_credentials",
        "details": {"username": "jöhn"},
    }


@pytest.mark.parametrize(
    ("level", "success", "failure"),
    [(logging.DEBUG, True, True), (logging.INFO, False, True), (logging.ERROR, False, False)],
)
def test_the_log_has_what_went_well_at_debug_alone(
    level: int, *, success: bool, failure: bool
) -> None:
    capture = CapturingLogger()
    listener = JbossLogging(ListenerOptions(log=_log(capture, level)))
    assert listener.wants(_realm(), "LOGIN", failed=False) is success
    assert listener.wants(_realm(), "LOGIN_ERROR", failed=True) is failure
    listener.on_event(_realm(), user_event("1"))
    assert [call.method_name for call in capture.calls] == ["debug"] * success

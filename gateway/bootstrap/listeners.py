"""Builds the event listeners of a process."""

import structlog
from structlog.typing import FilteringBoundLogger

from gateway.domain.mail import MAILED_BY_DEFAULT
from gateway.listeners import LISTENERS, ListenerOptions
from gateway.listeners.dispatch import Dispatch
from gateway.settings import Settings


def event_listeners(settings: Settings) -> Dispatch:
    """Return the listeners that the settings allow."""
    log: FilteringBoundLogger = structlog.get_logger()
    options = ListenerOptions(
        log=log, mailed_events=_mailed_events(settings), events_file=settings.events_file
    )
    made = {name: make(options) for name, make in LISTENERS.items()}
    return Dispatch({name: each for name, each in made.items() if each is not None}, log)


def _mailed_events(settings: Settings) -> frozenset[str]:
    included = frozenset(settings.email_include_events) or MAILED_BY_DEFAULT
    return included - frozenset(settings.email_exclude_events)

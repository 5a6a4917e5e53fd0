"""Signals before there are workers, and after: a start that is told to end undoes what it began.

Otherwise SIGTERM half way would leave a Redis that nobody ends and a socket that nobody serves.
"""

import signal
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)


class EarlySignals:
    """Turns SIGTERM and SIGINT into SystemExit; SIGHUP has nothing to replace yet."""

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in ENDING:
            signal.signal(number, self._leave)

    def check(self) -> None:
        """Leave where the exception was lost, as those are that meet a finalizer."""
        if self._asked:
            raise SystemExit(0)

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        # Tidying up is not to be disturbed by the same wish once more.
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        self._asked = True
        raise SystemExit(0)


def end_at_once() -> None:
    """Let the signals end this process, a child, without ceremony."""
    for number in (*ENDING, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)

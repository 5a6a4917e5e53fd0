"""Very many queued mails are sent: how quickly, and whether a worker grows."""

import time

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.mail_sink import MailSink, mail_sink
from bench.processes import BenchError, proportional_bytes
from bench.stack import Stack, Start, import_realms, stack

TITLE = "Very many queued mails"
HOW = (
    "One worker sends the mails of one realm to a server that accepts each at once, in SQLite, from"
    " a queue that is filled before the start; without `--full` for two minutes at most. Growth is"
    " the worker's own size at the end, against its size after the first mails."
)
_REALM = "mails"
_USER = "ada"
_PAUSE = 0.05
_FIRST = 1_000
"""Mails after which a worker has loaded all that it needs."""


def measure(bench: Bench) -> Result:
    """Fill the queue, start a gateway, and watch it until the queue is empty."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench.many_mails import fill_mails  # noqa: PLC0415

    site, count = bench.copy("mails"), bench.plan.mails
    settings: dict[str, object] = {"mail_networks": "127.0.0.0/8"}
    with mail_sink() as sink:
        import_realms(site, [_realm(sink.port)])
        fill_mails(site.environment(), _REALM, _USER, count)
        with stack(site, Start(settings=settings)) as target:
            _wait(sink, target, _FIRST, bench.plan.mail_seconds)
            begun, first, before = time.monotonic(), sink.count, _size(target)
            _wait(sink, target, count, bench.plan.mail_seconds)
            seconds, last, after = time.monotonic() - begun, sink.count, _size(target)
    figures = (
        Figure("mails in the queue", count),
        Figure("sent", last),
        Figure("sent by one worker", (last - first) / seconds, "/s"),
        Figure("worker at the end", after / 1e6, "MB"),
        Figure("worker after / before", after / before, gate=at_most(1.1, 1.02)),
    )
    return Result(figures, HOW)


def _wait(sink: MailSink, target: Stack, count: int, longest: float) -> None:
    """Wait until so many mails were sent, or `longest` seconds have passed."""
    end = time.monotonic() + longest
    while sink.count < count and time.monotonic() < end:
        if target.gateway.poll() is not None:
            raise BenchError("the gateway has ended")
        time.sleep(_PAUSE)


def _size(target: Stack) -> int:
    return sum(map(proportional_bytes, target.gateway_processes()))


def _realm(port: int) -> dict[str, object]:
    return {
        "realm": _REALM,
        "enabled": True,
        "defaultSignatureAlgorithm": "ES256",
        "smtpServer": {"host": "localhost", "port": str(port), "from": "bench@example.com"},
        "users": [{"username": _USER, "enabled": True, "email": "ada@example.com"}],
    }

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
    " a queue that is filled before the start. Growth is the worker's own size once all are sent,"
    " against its size after the first tenth."
)
_REALM = "mails"
_USER = "ada"
_PAUSE = 0.05


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
            _wait(sink, target, count // 10)
            begun, before = time.monotonic(), _size(target)
            _wait(sink, target, count)
            seconds, after = time.monotonic() - begun, _size(target)
    rate = (count - count // 10) / seconds
    figures = (
        Figure("mails in the queue", count),
        Figure("sent by one worker", rate, "/s"),
        Figure("worker after / before", after / before, gate=at_most(1.1, 1.02)),
    )
    return Result(figures, HOW)


def _wait(sink: MailSink, target: Stack, count: int) -> None:
    while sink.count < count:
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

"""A certificate-bound token without its certificate, and with another one. attacks: A19."""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding

_REMEDY: Final = (
    "include realmgate/guard-server.conf and realmgate/guard.conf as they are: they report the"
    " certificate of the connection"
)


def _run(target: Target) -> Iterator[Finding]:
    if target.token is None or target.certificate is None:
        raise NotDone("--token FILE with a bound token and --certificate FILE are needed.")
    headers = target.authorization
    own = target.edge.ask(headers=headers, certificate=target.certificate)
    if not own.allowed:
        raise NotDone(f"{target.edge.url} answers {own} to the token with its certificate.")
    impostor = target.make_impostor()
    for thief, name in ((None, "without its certificate"), (impostor, "of another holder")):
        if target.edge.ask(headers=headers, certificate=thief).allowed:
            yield Finding(f"{target.edge.url} accepts the bound token {name}", _REMEDY)
            return


ATTACK = Attack("stolen-token", "The bound token passes with its certificate alone.", _run)

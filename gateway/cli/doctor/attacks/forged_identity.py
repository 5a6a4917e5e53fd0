"""Identity headers of the caller's own, together with a credential that passes. attacks: B6."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.scopes import Location
from gateway.forward_auth.caller_headers import REMOVED
from gateway.forward_auth.identity_headers import IDENTITY_HEADERS

_NEUTRAL: Final = "X-Doctor-Visible"
_LISTED: Final = (*IDENTITY_HEADERS, *REMOVED)
_PORTION: Final = 30
_PORTIONS: Final = tuple(
    names[start : start + _PORTION]
    for names in (
        _LISTED,
        tuple(name.upper() for name in IDENTITY_HEADERS),
        tuple(name.replace("-", "_") for name in _LISTED if "-" in name),
    )
    for start in range(0, len(names), _PORTION)
)
"""Names that are sent together."""
_REMEDY: Final = (
    "include realmgate/guard.conf in the location itself; underscores_in_headers off, also in the"
    " default server of the address"
)


def _run(target: Target) -> Iterator[Finding]:
    marker = f"doctor-{secrets.token_hex(8)}"
    visible = False
    for path, location in target.locations:
        certificate = target.certificate
        allowed = (*target.authorization, (_NEUTRAL, marker))
        usual = target.edge.ask(path, headers=allowed, certificate=certificate)
        if not usual.allowed or marker.encode() not in usual.content:
            continue
        visible = True
        for names in _PORTIONS:
            yield from _arriving(target, path, location, names, marker)
    if not visible:
        raise NotDone(
            "no service shows the headers it receives; a credential that passes (--token,"
            " --certificate) and a URL of a service that echoes them are needed."
        )


def _arriving(
    target: Target, path: str, location: Location | None, names: Sequence[str], marker: str
) -> Iterator[Finding]:
    """Send the names together, and one by one where that is refused or one of them arrives."""
    headers = (*target.authorization, *((name, f"{marker}-{name}") for name in names))
    answer = target.edge.ask(path, headers=headers, certificate=target.certificate)
    if answer.allowed and marker.encode() not in answer.content:
        return
    if len(names) > 1:
        for name in names:
            yield from _arriving(target, path, location, (name,), marker)
    elif answer.allowed:
        problem = f"{target.edge.url}: a caller's own {names[0]} reaches the service at {path}"
        yield Finding(problem, _REMEDY, target.place(location))


ATTACK = Attack("forged-identity", "No identity header of a caller reaches a service.", _run)

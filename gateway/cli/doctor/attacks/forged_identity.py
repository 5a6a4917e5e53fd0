"""Identity headers of the caller's own, beside a credential that passes. attacks: B6."""

import secrets
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding
from gateway.forward_auth.identity_headers import IDENTITY_HEADERS

_NEUTRAL: Final = "X-Doctor-Visible"
_REMEDY: Final = "include realmgate/guard.conf in the location itself; underscores_in_headers off"


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
        for name in IDENTITY_HEADERS:
            for spelling in (name, name.upper(), name.replace("-", "_")):
                headers = (*target.authorization, (spelling, marker))
                answer = target.edge.ask(path, headers=headers, certificate=certificate)
                if marker.encode() in answer.content:
                    yield Finding(
                        f"{target.edge.url}: a caller's own {spelling} reaches the service at"
                        f" {path}",
                        _REMEDY,
                        target.place(location),
                    )
    if not visible:
        raise NotDone(
            "no service shows the headers it receives; a credential that passes (--token,"
            " --certificate) and a URL of a service that echoes them are needed."
        )


ATTACK = Attack("forged-identity", "No identity header of a caller reaches a service.", _run)

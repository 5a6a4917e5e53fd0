"""Attacks on the running proxy, a file each; `ATTACKS` is their order in the report."""

from typing import Final

from gateway.cli.doctor.attacks import (
    bad_certificates,
    direct_access,
    forged_headers,
    forged_identity,
    paths,
    resumed_session,
    stolen_token,
    unknown_host,
)
from gateway.cli.doctor.attacks.attack import Attack

ATTACKS: Final[tuple[Attack, ...]] = (
    direct_access.ATTACK,
    forged_headers.ATTACK,
    forged_identity.ATTACK,
    paths.ATTACK,
    unknown_host.ATTACK,
    bad_certificates.ATTACK,
    resumed_session.ATTACK,
    stolen_token.ATTACK,
)

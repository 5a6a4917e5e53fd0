"""secret-rotation: how long secrets of clients last.

What it does to a secret is in `gateway/admin/clients/preparation.py`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import InvalidConfiguration

_EXPIRATION: Final = 29 * 86_400
_ROTATED: Final = 2 * 86_400
_REMAINING: Final = 10 * 86_400


@dataclass(frozen=True, slots=True)
class SecretRotation(Executor):
    """How long a secret lasts, and the one before it after a rotation.

    `remaining` is how long before its end a client that updates itself gets a new secret.
    """

    provider: ClassVar = "secret-rotation"
    registration_only: ClassVar = (
        "As in Keycloak a secret gets its expiration with the next change of the client; requests"
        " with an expired secret are refused with or without a policy"
    )
    expiration: timedelta = timedelta(seconds=_EXPIRATION)
    rotated: timedelta = timedelta(seconds=_ROTATED)
    remaining: timedelta = timedelta(seconds=_REMAINING)

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        expiration = configuration.number("expiration-period", _EXPIRATION)
        rotated = configuration.number("rotated-expiration-period", _ROTATED)
        remaining = configuration.number("remaining-rotation-period", _REMAINING)
        if not expiration or max(rotated, remaining) > expiration:
            raise InvalidConfiguration("expiration-period must be the longest period")
        return cls(*(timedelta(seconds=each) for each in (expiration, rotated, remaining)))

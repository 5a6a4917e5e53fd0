"""The administrative use cases of client registration, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.registration.token_administration import (
    ClientRegistrationTokens,
    InitialAccesses,
)


@dataclass(frozen=True, slots=True)
class RegistrationUseCases:
    """Every use case of registration tokens."""

    client_tokens: ClientRegistrationTokens
    initial_accesses: InitialAccesses

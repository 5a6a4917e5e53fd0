"""Realm keys for tests: RSA keys are made a few times in a run, all others each time anew."""

from itertools import cycle

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto.keys.private import generate_rsa_key
from gateway.crypto.keys.signing import PyJwtKeyFactory


@pytest.fixture(scope="session")
def rsa_private_keys() -> tuple[rsa.RSAPrivateKey, ...]:
    """Return RSA keys that the whole run shares."""
    return tuple(generate_rsa_key() for _ in range(3))


@pytest.fixture
def key_factory(rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]) -> PyJwtKeyFactory:
    """Return a factory whose first three RSA keys differ and cost nothing."""
    supply = cycle(rsa_private_keys)
    return PyJwtKeyFactory(rsa_key=lambda: next(supply))

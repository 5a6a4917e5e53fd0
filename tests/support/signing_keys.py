"""Realm keys for tests: only RSA keys are shared, since generating one takes long."""

from functools import cache
from itertools import cycle

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto.private_keys import generate_rsa_key
from gateway.crypto.realm_keys import PyJwtKeyFactory


@cache
def _rsa_keys() -> tuple[rsa.RSAPrivateKey, ...]:
    return tuple(generate_rsa_key() for _ in range(3))


def shared_key_factory() -> PyJwtKeyFactory:
    """Return a factory whose first three RSA keys differ, and are the same in the whole run."""
    supply = cycle(_rsa_keys())
    return PyJwtKeyFactory(rsa_key=lambda: next(supply))


@pytest.fixture(scope="session")
def rsa_private_keys() -> tuple[rsa.RSAPrivateKey, ...]:
    """Return RSA keys that the whole run shares."""
    return _rsa_keys()


@pytest.fixture
def key_factory() -> PyJwtKeyFactory:
    return shared_key_factory()

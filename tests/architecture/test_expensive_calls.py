"""Calls whose cost depends on input stand in the few modules that check the limits first.

A new place that parses a key, a certificate or an archive, or that computes a password hash, has to
go through them. Source: the limits in gateway/domain/limits.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.test_modules import MODULES, tree

EXPENSIVE: dict[str, set[str]] = {
    r"load_(pem|der)_private_key": {"gateway/crypto/private_keys.py"},
    r"load_ssh_\w+": set(),
    r"load_(pem|der)_public_key": {"gateway/crypto/public_keys.py"},
    r"load_(pem|der)_parameters": set(),
    r"load_(pem|der)_x509_(certificates?|crl|csr)": {"gateway/crypto/public_keys.py"},
    r"load_(pem|der)_pkcs7_certificates|pkcs7_decrypt_\w+": set(),
    r"load_key_and_certificates|load_pkcs12": set(),
    r"RSAPrivateNumbers|RSAPublicNumbers|rsa_recover_\w+": {"gateway/crypto/private_keys.py"},
    r"EllipticCurve(Private|Public)Numbers|(DSA|DH)\w*Numbers|derive_private_key": set(),
    r"PyJWK|PyJWKSet|from_jwk": {"gateway/crypto/public_keys.py"},
    r"(RSA|EC|OKP|Oct)Key|(de|en)crypt_compact|import_key(_set)?": {"gateway/crypto/jwe.py"},
    r"generate_private_key|generate_parameters": {
        "gateway/crypto/private_keys.py",
        "gateway/crypto/realm_keys.py",
        "gateway/crypto/x509/issuing.py",
    },
    r"generate_rsa_key": {
        "gateway/crypto/client_keys.py",
        "gateway/crypto/private_keys.py",
        "gateway/crypto/realm_keys.py",
    },
    r"load_own_private_key": {
        "gateway/crypto/private_keys.py",
        "gateway/crypto/client_keys.py",
        "gateway/crypto/x509/development_pki.py",
    },
    r"pbkdf2_hmac|scrypt|Scrypt": {"gateway/crypto/pkcs12.py"},
    r"PBKDF2HMAC|Argon2\w*|_passlib_argon2|hash_secret(_raw)?|bcrypt": {
        "gateway/crypto/passwords.py"
    },
    r"read_stored_password": {
        "gateway/crypto/passwords.py",
    },
}
"""Names, and the modules that may use them."""
OFF_THE_LOOP = {"generate", "imported", "archive"}
"""Methods of the key ports that take long: they are handed to `run_key_work`, never called."""
KEY_PORTS = {"_keys", "_factory", "factory"}


@cache
def names(module: str) -> frozenset[str]:
    """Return every name that a module uses, however it comes by it."""
    return frozenset(_names(module))


def _names(module: str) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        match node:
            case ast.Name():
                yield node.id
            case ast.Attribute():
                yield node.attr
            case ast.ImportFrom():
                yield from (alias.name for alias in node.names)
            case ast.FunctionDef():
                yield node.name
            case _:
                pass


@pytest.mark.parametrize("pattern", EXPENSIVE)
def test_an_expensive_call_stands_where_its_limits_are_checked(pattern: str) -> None:
    users = {
        module
        for module in MODULES
        if module.startswith("gateway/")
        and any(re.fullmatch(pattern, name) for name in names(module))
    }
    assert users == EXPENSIVE[pattern]


def test_administration_makes_and_parses_keys_off_the_event_loop() -> None:
    called = [
        f"{module}:{node.lineno}"
        for module in MODULES
        if module.startswith("gateway/admin/")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in OFF_THE_LOOP | {"read_key_file"}
        and isinstance(node.func.value, ast.Name | ast.Attribute)
        and _last_name(node.func.value) in KEY_PORTS
    ]
    assert called == []


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


LOCK_RELEASED = {"secrets": None, "uuid": {"uuid1", "uuid4"}, "os": {"urandom", "getrandom"}}
"""Modules whose random values release the interpreter lock, and their functions; None for all."""


@pytest.mark.parametrize("package", ["gateway/admin/", "gateway/representations/"])
def test_random_values_of_documents_keep_the_lock(package: str) -> None:
    """Threads of these packages handle large documents: gateway/domain/random_values.py."""
    assert not [
        (module, name)
        for module in MODULES
        if module.startswith(package)
        for name in _lock_releasing(tree(module))
    ]


def _lock_releasing(module: ast.AST) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(module=str(source)) if source in LOCK_RELEASED:
                wanted = LOCK_RELEASED[source]
                yield from (a.name for a in node.names if wanted is None or a.name in wanted)
            case ast.Attribute(value=ast.Name(id=source)) if source in LOCK_RELEASED:
                wanted = LOCK_RELEASED[source]
                if wanted is None or node.attr in wanted:
                    yield f"{source}.{node.attr}"
            case _:
                pass

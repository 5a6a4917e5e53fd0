"""A password credential in Keycloak's two JSON strings, written with the same bytes.

Imported credentials are read here too: the cost is checked before every computation.
Keycloak: PasswordCredentialModel, `credentialData` and `secretData`
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.domain.errors import SecretUnreadable
from gateway.domain.limits.password_hashing import HashParameters, hash_refusal


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """A hash with all it takes to compute it again."""

    algorithm: str
    iterations: int
    salt: bytes
    value: bytes = field(repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def credential_data(self) -> str:
        parameters = {name: [value] for name, value in self.parameters.items()}
        return _json(
            {
                "hashIterations": self.iterations,
                "algorithm": self.algorithm,
                "additionalParameters": parameters,
            }
        )

    def secret_data(self) -> str:
        value, salt = (base64.b64encode(raw).decode("ascii") for raw in (self.value, self.salt))
        return _json({"value": value, "salt": salt, "additionalParameters": {}})


def read_stored_password(credential_data: str, secret_data: str) -> StoredPassword:
    """Read the two strings; raises SecretUnreadable, which tells nothing of their content."""
    try:
        made, secret = json.loads(credential_data), json.loads(secret_data)
        stored = StoredPassword(
            algorithm=str(made["algorithm"]),
            iterations=int(made["hashIterations"]),
            salt=base64.b64decode(secret["salt"], validate=True),
            value=base64.b64decode(secret["value"], validate=True),
            parameters=_parameters(made.get("additionalParameters") or {}),
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise SecretUnreadable("a stored password is not in Keycloak's format") from error
    _require_affordable(stored)
    return stored


def _require_affordable(stored: StoredPassword) -> None:
    """Raise SecretUnreadable for a hash that must not be computed, however it was stored."""
    parameters = HashParameters(
        algorithm=stored.algorithm,
        iterations=stored.iterations,
        hash_bytes=len(stored.value),
        salt_bytes=len(stored.salt),
        parameters=stored.parameters,
    )
    try:
        allowed = hash_refusal(parameters)
    except (ValueError, KeyError) as error:
        raise SecretUnreadable("a stored password has parameters that are no numbers") from error
    if allowed is not None:
        raise SecretUnreadable(f"a stored password is too expensive: {allowed}")


def _parameters(given: Mapping[str, list[Any]]) -> dict[str, str]:
    return {name: str(values[0]) for name, values in given.items() if values}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))

"""A key as a credential stores it, in Keycloak's two JSON strings.

`aaguid`, `credentialId` (Base64), `counter`, `credentialPublicKey` (COSE in Base64url),
`attestationStatementFormat` and `transports`; the secret data is empty.
Keycloak: WebAuthnCredentialModel, WebAuthnCredentialData (26.7)
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Self
from uuid import uuid4

from gateway.domain import base64url
from gateway.domain.errors import SecretUnreadable
from gateway.domain.users import Credential, next_priority
from gateway.domain.web_authn import VerifiedKey, decode

_NO_SECRETS: Final = "{}"


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key of a user."""

    credential: Credential
    id: bytes
    public_key: bytes
    counter: int
    transports: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)
    """All that the credential says."""

    @classmethod
    def of(cls, credential: Credential) -> Self:
        """Return the key of a credential; raises SecretUnreadable."""
        try:
            data = json.loads(credential.credential_data)
            return cls(
                credential=credential,
                id=decode(data["credentialId"]),
                public_key=decode(data["credentialPublicKey"]),
                counter=int(data.get("counter") or 0),
                transports=tuple(map(str, data.get("transports") or ())),
                data=dict(data),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SecretUnreadable("a stored key is not in Keycloak's format") from error

    def accepts(self, counter: int) -> bool:
        """Tell whether a signature with that counter is newer than the last one.

        Authenticators that do not count send zero. Spec: WebAuthn Level 3 §6.1.1
        """
        return counter > self.counter or (counter == 0 and self.counter == 0)

    def used(self, counter: int) -> Credential:
        """Return the credential after a signature with that counter."""
        return replace(self.credential, credential_data=_json({**self.data, "counter": counter}))


def readable_keys(credentials: Sequence[Credential]) -> tuple[StoredKey, ...]:
    """Return the keys of credentials, without those that cannot be read."""
    found = []
    for credential in credentials:
        try:
            found.append(StoredKey.of(credential))
        except SecretUnreadable:
            continue  # the user signs in with another one
    return tuple(found)


def new_credential(
    kind: str,
    user_id: str,
    key: VerifiedKey,
    *,
    label: str | None,
    transports: Sequence[str],
    held: Sequence[Credential],
    now: datetime,
) -> Credential:
    """Return the credential of a new key, behind those that the user has."""
    data = {
        "aaguid": key.aaguid,
        "credentialId": base64.b64encode(key.credential_id).decode("ascii"),
        "counter": key.sign_count,
        "credentialPublicKey": base64url.encode(key.public_key),
        "attestationStatementFormat": key.attestation_format,
        "transports": list(transports),
    }
    return Credential(
        id=str(uuid4()),
        user_id=user_id,
        type=kind,
        created_at=now,
        credential_data=_json(data),
        secret_data=_NO_SECRETS,
        priority=next_priority(held),
        label=label,
    )


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))

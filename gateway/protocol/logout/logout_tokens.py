"""The logout token that tells a client which session has ended.

Spec: OpenID Connect Back-Channel Logout §2.4, §2.6; Keycloak: 12.6
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.keys import HeaderType, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.logout_notices import LogoutNotice
from gateway.domain.ports.directory import RealmEntry
from gateway.protocol.claims.subject_identifiers import subject_identifier

_LIFESPAN: Final = timedelta(minutes=2)
_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_REVOKE_OFFLINE: Final = "revoke_offline_access"
_TYPE: Final = "Logout"


def logout_token(
    realm: RealmEntry, issuer: str, client: Client, notice: LogoutNotice, now: datetime
) -> str:
    """Return a new token, signed as the client's ID tokens are, and not encrypted yet.

    Raises LookupError where the realm has no key for it.
    """
    events: dict[str, Any] = {_EVENT: {}}
    if client.logout.revoke_offline_tokens:
        events[_REVOKE_OFFLINE] = True
    claims: dict[str, Any] = {
        "exp": int((now + _LIFESPAN).timestamp()),
        "iat": int(now.timestamp()),
        "jti": str(uuid.uuid4()),
        "iss": issuer,
        "aud": client.client_id,
        "sub": subject_identifier(client, notice.user_id),
        "typ": _TYPE,
        "events": events,
    }
    if client.logout.back_channel_session_required:
        claims["sid"] = notice.session_id
    algorithm = client.signing.id_token or realm.realm.signature_algorithm
    if isinstance(algorithm, SignatureAlgorithm | SecretAlgorithm):
        return realm.key_ring.sign(claims, algorithm, now, HeaderType.LOGOUT)
    raise LookupError(f"no key for {algorithm}")

"""The identity of a user who has a token of a client, or a session with it."""

from gateway.domain.certificates import ClientCertificate
from gateway.domain.forward_auth import Credential, Identity
from gateway.domain.ports.directory import ClientEntry, RealmEntry, UserEntry
from gateway.forward_auth.credentials.rights import Rights


def user_identity(
    kind: Credential,
    realm: RealmEntry,
    client: ClientEntry,
    user: UserEntry,
    rights: Rights,
    *,
    session_id: str | None,
    certificate: ClientCertificate | None,
    thumbprint: str | None = None,
    proof_key: str | None = None,
    audiences: frozenset[str] = frozenset(),
) -> Identity:
    """Return the identity; a certificate that the realm does not trust is left out.

    `thumbprint` is the one of the certificate that a token is bound to, `proof_key` that of its
    DPoP key, `audiences` its `aud`.
    """
    return Identity(
        realm=realm.realm.name,
        kind=kind,
        subject=user.user.id,
        username=user.user.username,
        email=user.user.email,
        email_verified=user.user.email_verified,
        groups=user.groups,
        realm_roles=rights.realm_roles,
        client_roles=rights.client_roles,
        client_id=client.client.client_id,
        scopes=rights.scopes,
        thumbprint=thumbprint,
        proof_key=proof_key,
        audiences=audiences,
        session_id=session_id,
        certificate=certificate if certificate is not None and certificate.identifies else None,
    )

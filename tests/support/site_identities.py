"""Identities that rules of protected sites are evaluated for."""

from gateway.domain.forward_auth import AcceptedCredential, AssertedIdentity

ADA = AssertedIdentity(
    realm="staff",
    kind=AcceptedCredential.BEARER,
    subject="id-of-ada",
    username="ada",
    email="ada@example.test",
    email_verified=True,
    groups=("/teams/red", "/teams/a,b"),
    realm_roles=frozenset({"user", "admin"}),
    client_roles=frozenset({"portal/reader"}),
    client_id="portal",
)

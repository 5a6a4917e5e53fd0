"""Tokens of the authorization endpoint, which reach the client through the browser.

There is no refresh token among them. In the implicit flow, which has no code, tokens have another
lifespan. An ID token that is a detached signature goes through the browser without claims of the
user. No access token is given to a client whose tokens are bound to a certificate or to a DPoP
key: the browser has neither.
Spec: RFC 6749 §4.2.2, OpenID Connect Core §3.2.2.5, §3.3.2.5, §3.3.2.11; FAPI 1.0 Advanced §5.1.1,
§5.2.2.1 (s_hash); Keycloak: 2.3, OIDCLoginProtocol
"""

from dataclasses import dataclass, field, replace

from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import confirmation_claim
from gateway.protocol.tokens.issuing import Issue, access_claims, sign_id_token
from gateway.protocol.tokens.signing import sign_access_token, token_hash


@dataclass(frozen=True, slots=True)
class BrowserTokens:
    """What the client asked for of the two; `expires_in` is in seconds."""

    token_id: str
    token_type: str
    expires_in: int
    access_token: str | None = field(default=None, repr=False)
    id_token: str | None = field(default=None, repr=False)


def issue_to_browser(
    request: ProtocolRequest,
    issue: Issue,
    *,
    access_token: bool,
    id_token: bool,
    code: str | None,
    state: str | None,
) -> BrowserTokens:
    """Sign the tokens of one authorization response; raises OAuthError as `issue_tokens` does."""
    client = issue.subject.client
    hashed = {"c_hash": code, "s_hash": state or None}
    hashes = {name: token_hash(request, client, text) for name, text in hashed.items() if text}
    lifespan = None if code else request.realm.realm.token_lifespans.access_token_for_implicit_flow
    issue = replace(
        issue,
        lifespan=lifespan,
        hashes=hashes,
        id_token_is_detached_signature=client.signing.id_token_as_detached_signature,
    )
    confirmation = confirmation_claim(client, None, None) if access_token else None
    access = access_claims(request, issue, confirmation)
    signed = sign_access_token(request, client, access.document) if access_token else None
    claims = access.protocol
    return BrowserTokens(
        token_id=claims.token_id,
        token_type=claims.token_type,
        expires_in=claims.expires_at - claims.issued_at,
        access_token=signed,
        id_token=sign_id_token(request, issue, claims, signed) if id_token else None,
    )

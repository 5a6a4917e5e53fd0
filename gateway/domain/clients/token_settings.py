"""What tokens a client gets. Keycloak: client attributes, advanced settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class ClientTokens:
    """The client's own settings of tokens and of the token response."""

    access_token_lifespan: timedelta | None = None
    """`access.token.lifespan`: None inherits the realm's, a negative one lasts as the session."""
    certificate_bound: bool = False
    """`tls.client.certificate.bound.access.tokens`: `cnf` names the client's certificate."""
    lightweight: bool = False
    """`client.use.lightweight.access.token.enabled`: only the claims mappers add to such."""
    refresh_tokens: bool = True
    """`use.refresh.tokens`: whether a session's tokens come with a refresh token."""
    lower_case_type: bool = False
    """`token.response.type.bearer.lower-case`: the response says `bearer`, not `Bearer`."""

"""Whether what a caller sends is the secret of a client now.

Either the current secret or, until its expiration, the rotated one. Where the current secret has
expired neither is accepted. Keycloak 26.7: `client-secret`; Spec: RFC 7591 §3.2.1
"""

from datetime import datetime

from gateway.domain.clients import Client


def secret_refusal(client: Client, given: str, now: datetime) -> str | None:
    """Return why `given` is not accepted, for the log; None where it is.

    Both secrets are compared in constant time.
    """
    current = client.secret is not None and client.secret.matches(given)
    rotated = client.rotated_secret is not None and client.rotated_secret.matches(given)
    if not current and not (rotated and client.secret_settings.accepts_rotated(now)):
        return "the rotated client secret has expired" if rotated else "wrong client secret"
    return "the client secret has expired" if client.secret_settings.has_expired(now) else None

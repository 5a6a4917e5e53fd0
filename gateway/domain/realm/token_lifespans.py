"""How long tokens and codes live. Keycloak: the realm's token settings, creation defaults."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TokenLifespans:
    """Lifetimes counted from the issue of the token or code; whole seconds on the wire."""

    access_token: timedelta = timedelta(minutes=5)
    """`accessTokenLifespan`: an access token. The realm `master` is created with 60 s."""
    access_token_for_implicit_flow: timedelta = timedelta(minutes=15)
    """`accessTokenLifespanForImplicitFlow`: an access token given to a browser directly."""
    access_code: timedelta = timedelta(minutes=1)
    """`accessCodeLifespan`: an authorization code, until it is redeemed."""
    access_code_user_action: timedelta = timedelta(minutes=5)
    """`accessCodeLifespanUserAction`: one page of a required action."""
    access_code_login: timedelta = timedelta(minutes=30)
    """`accessCodeLifespanLogin`: the whole sign-in, from the first page to the code."""
    action_token_by_admin: timedelta = timedelta(hours=12)
    """`actionTokenGeneratedByAdminLifespan`: a link that an administrator has sent."""
    action_token_by_user: timedelta = timedelta(minutes=5)
    """`actionTokenGeneratedByUserLifespan`: a link that the user asked for."""
    device_code: timedelta = timedelta(minutes=10)
    """`oauth2DeviceCodeLifespan`: device and user code. Spec: RFC 8628 §3.2 `expires_in`."""
    device_polling_interval: timedelta = timedelta(seconds=5)
    """`oauth2DevicePollingInterval`: least pause of a polling device. Spec: RFC 8628 §3.2."""

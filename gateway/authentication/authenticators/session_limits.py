"""`user-session-limits`: how many sessions a user may have, in the realm and of the client.

Two sign-ins at once may both find room, as in Keycloak.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from gateway.authentication.engine.sign_in import Config, Outcome, Result, SignIn, WithoutForm
from gateway.authentication.errors import SessionLimitExceeded
from gateway.domain.flows import SESSION_LIMITS
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.sessions import UserSession

_REALM_LIMIT: Final = "userRealmLimit"
_CLIENT_LIMIT: Final = "userClientLimit"
_TERMINATE: Final = "Terminate oldest session"


class SessionLimits(WithoutForm):
    """Refuses another session, or ends those not refreshed for longest, by `behavior`.

    `userRealmLimit` and `userClientLimit` are limits; 0 or nothing is none. A session of this
    browser that goes on is not another one.
    """

    id: ClassVar = SESSION_LIMITS

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Raise SessionLimitExceeded where there are as many as allowed and none is to end."""
        found = await self._sessions.of_user(sign_in.realm.id, sign_in.user.id)
        browser = sign_in.context.browser_session
        going_on = None if browser is None else browser.session.id
        others = (session for session in found if session.id != going_on)
        sessions = sorted(others, key=lambda session: session.refreshed_at)
        of_client = [one for one in sessions if sign_in.client.id in one.clients]
        for own, name in ((sessions, _REALM_LIMIT), (of_client, _CLIENT_LIMIT)):
            excess = _excess(len(own), config.get(name))
            if excess:
                await self._make_room(sign_in, config, own[:excess])
                break
        return Outcome.SUCCEEDED

    async def _make_room(
        self, sign_in: SignIn, config: Config, oldest: Sequence[UserSession]
    ) -> None:
        if config.get("behavior") != _TERMINATE:
            text = config.get("errorMessage")
            raise SessionLimitExceeded(sign_in.user.id, text)
        for session in oldest:
            await self._sessions.end(sign_in.realm.id, session.id)


def _excess(count: int, limit: str | None) -> int:
    """Return how many sessions must end before another one begins."""
    allowed = int(limit or "0")
    return max(0, count - allowed + 1) if allowed > 0 else 0

"""What is known of the browser of a request, from cookies that were verified."""

from dataclasses import dataclass, field

from gateway.domain.sessions import UserSession
from gateway.protocol.sign_in_results.identity_cookie import Identity


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser in one realm.

    `session_id` is the id of its authentication sessions, `identity` that of who is signed in.
    `restart` is the request of its last sign-in, as `AuthorizationRequest.stored` wrote it.
    """

    session_id: str | None = None
    identity: Identity | None = None
    restart: dict[str, str] | None = field(default=None, repr=False)
    remembered_username: str | None = field(default=None, repr=False)

    @property
    def user_session(self) -> UserSession | None:
        """The session of the user who is signed in."""
        return None if self.identity is None else self.identity.session

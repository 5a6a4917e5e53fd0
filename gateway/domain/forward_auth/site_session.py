"""The session of a browser at a protected site, which lasts with a user session of the realm."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SiteSession:
    """What the value of the session cookie stands for.

    `site` is the name of the site that it is valid at, or the cookie domain that its sites share.
    `realm` is a name, `client` a clientId, `session_id` that of the realm's user session.
    """

    site: str
    realm: str
    client: str
    user_id: str
    session_id: str = field(repr=False)
    created_at: datetime

"""A device that a user connects, as what a sign-in is for.

A device asks nothing of the sign-in itself: no prompt, no age, no level. Keycloak: 12.9
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from gateway.domain.events import Detail
from gateway.domain.ports.directory import ClientEntry, RealmEntry
from gateway.protocol.authorization import Prompt, RequestedLevel, StoredRequestUnusable
from gateway.protocol.scopes import GrantedScopes, still_granted

_USER_CODE: Final = "device_user_code"


@dataclass(frozen=True, slots=True)
class DeviceConnection:
    """The client of the device, what it asks for, and the code that the user typed."""

    client: ClientEntry = field(repr=False)
    scopes: GrantedScopes = field(repr=False)
    user_code: str = field(repr=False)
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    action: str | None = None
    action_parameter: str | None = None
    login_hint: str | None = None
    hinted_user: str | None = None
    level: RequestedLevel | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)

    @property
    def event_details(self) -> Mapping[str, str]:
        """What the event of the sign-in says of it, as Keycloak does."""
        return {Detail.RESPONSE_TYPE: "code", Detail.RESPONSE_MODE: "query"}

    def stored(self) -> Mapping[str, str]:
        """Return the connection as text by names; `restore_connection` reads it."""
        return {
            "client_id": self.client.client.client_id,
            "scope": " ".join(self.scopes.names),
            _USER_CODE: self.user_code,
        }


def names_device(stored: Mapping[str, str]) -> bool:
    """Tell whether a stored request is that of a device."""
    return _USER_CODE in stored


def restore_connection(
    stored: Mapping[str, str], realm: RealmEntry, client: ClientEntry
) -> DeviceConnection:
    """Return the connection that `stored` was written from. Raises StoredRequestUnusable."""
    try:
        scopes = still_granted(realm, client.client, stored["scope"].split(" "))
        return DeviceConnection(client, scopes, stored[_USER_CODE])
    except KeyError as error:
        raise StoredRequestUnusable("malformed") from error

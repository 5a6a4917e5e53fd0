"""What is recorded of users and clients, and of administration.

Keycloak: Event, AdminEvent, OperationType, ResourceType
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gateway.domain.events.types import EventType, name_of


@dataclass(frozen=True, slots=True)
class UserEvent:
    """What a user or a client did, or where there is an `error` tried in vain.

    `details` hold no secret. `client_id` is the public name, as it was sent.
    """

    id: str
    realm_id: str
    time: datetime
    kind: EventType
    client_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    ip_address: str | None = None
    error: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return name_of(self.kind, failed=self.error is not None)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A user event on its way to SQL.

    `is_stored` where the realm stores it; `listeners` queue something of it in the transaction that
    stores it.
    """

    event: UserEvent
    is_stored: bool = True
    listeners: tuple[str, ...] = ()


class OperationType(StrEnum):
    """What an administrator did."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    ACTION = "ACTION"


class ResourceType(StrEnum):
    """To what it was done; the last ones are of what does not exist here."""

    REALM = "REALM"
    REALM_ROLE = "REALM_ROLE"
    REALM_ROLE_MAPPING = "REALM_ROLE_MAPPING"
    REALM_SCOPE_MAPPING = "REALM_SCOPE_MAPPING"
    AUTH_FLOW = "AUTH_FLOW"
    AUTH_EXECUTION_FLOW = "AUTH_EXECUTION_FLOW"
    AUTH_EXECUTION = "AUTH_EXECUTION"
    AUTHENTICATOR_CONFIG = "AUTHENTICATOR_CONFIG"
    REQUIRED_ACTION = "REQUIRED_ACTION"
    REQUIRED_ACTION_CONFIG = "REQUIRED_ACTION_CONFIG"
    PROTOCOL_MAPPER = "PROTOCOL_MAPPER"
    USER = "USER"
    USER_LOGIN_FAILURE = "USER_LOGIN_FAILURE"
    USER_SESSION = "USER_SESSION"
    USER_PROFILE = "USER_PROFILE"
    GROUP = "GROUP"
    GROUP_MEMBERSHIP = "GROUP_MEMBERSHIP"
    CLIENT = "CLIENT"
    CLIENT_INITIAL_ACCESS_MODEL = "CLIENT_INITIAL_ACCESS_MODEL"
    CLIENT_ROLE = "CLIENT_ROLE"
    CLIENT_ROLE_MAPPING = "CLIENT_ROLE_MAPPING"
    CLIENT_SCOPE = "CLIENT_SCOPE"
    CLIENT_SCOPE_MAPPING = "CLIENT_SCOPE_MAPPING"
    CLIENT_SCOPE_CLIENT_MAPPING = "CLIENT_SCOPE_CLIENT_MAPPING"
    CLUSTER_NODE = "CLUSTER_NODE"
    COMPONENT = "COMPONENT"
    AUTHORIZATION_POLICY = "AUTHORIZATION_POLICY"
    AUTHORIZATION_RESOURCE = "AUTHORIZATION_RESOURCE"
    AUTHORIZATION_RESOURCE_SERVER = "AUTHORIZATION_RESOURCE_SERVER"
    AUTHORIZATION_SCOPE = "AUTHORIZATION_SCOPE"
    CUSTOM = "CUSTOM"
    IDENTITY_PROVIDER = "IDENTITY_PROVIDER"
    IDENTITY_PROVIDER_MAPPER = "IDENTITY_PROVIDER_MAPPER"
    ORGANIZATION = "ORGANIZATION"
    ORGANIZATION_GROUP = "ORGANIZATION_GROUP"
    ORGANIZATION_GROUP_MEMBERSHIP = "ORGANIZATION_GROUP_MEMBERSHIP"
    ORGANIZATION_MEMBERSHIP = "ORGANIZATION_MEMBERSHIP"
    USER_FEDERATION_MAPPER = "USER_FEDERATION_MAPPER"
    USER_FEDERATION_PROVIDER = "USER_FEDERATION_PROVIDER"


@dataclass(frozen=True, slots=True)
class AuthDetails:
    """On whose behalf: ids of realm, client and user, and the address; None at a shell."""

    realm_id: str | None = None
    client: str | None = None
    """The internal id."""
    user_id: str | None = None
    ip_address: str | None = None


@dataclass(frozen=True, slots=True)
class AdminEvent:
    """One successful change. `resource_path` is relative to the realm, None for the realm itself.

    `representation` is JSON text, made from a list of fields that hold no secret.
    """

    id: str
    realm_id: str
    time: datetime
    operation: OperationType
    resource: ResourceType
    resource_path: str | None
    auth: AuthDetails
    representation: str | None = field(default=None, repr=False)
    details: Mapping[str, str] = field(default_factory=dict)

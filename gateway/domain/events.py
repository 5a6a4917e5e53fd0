"""What is recorded of administration. Keycloak: AdminEvent, OperationType, ResourceType."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class OperationType(StrEnum):
    """What an administrator did."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    ACTION = "ACTION"


class ResourceType(StrEnum):
    """To what it was done."""

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

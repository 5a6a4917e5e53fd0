"""The types of user events. Keycloak: EventType (26.7), 66 kinds.

A failure has the name of its kind and `_ERROR`, so settings and filters know 132 names.
"""

from enum import StrEnum, auto
from typing import Any, Final

_FAILED: Final = "_ERROR"


class EventType(StrEnum):
    """The kinds, each spelt as its member."""

    @staticmethod
    def _generate_next_value_(name: str, *_: Any) -> str:
        return name

    AUTHREQID_TO_TOKEN = auto()
    CLIENT_DELETE = auto()
    CLIENT_INFO = auto()
    CLIENT_INITIATED_ACCOUNT_LINKING = auto()
    CLIENT_LOGIN = auto()
    CLIENT_REGISTER = auto()
    CLIENT_UPDATE = auto()
    CODE_TO_TOKEN = auto()
    CUSTOM_REQUIRED_ACTION = auto()
    DELETE_ACCOUNT = auto()
    EXECUTE_ACTIONS = auto()
    EXECUTE_ACTION_TOKEN = auto()
    FEDERATED_IDENTITY_LINK = auto()
    FEDERATED_IDENTITY_OVERRIDE_LINK = auto()
    GRANT_CONSENT = auto()
    IDENTITY_PROVIDER_FIRST_LOGIN = auto()
    IDENTITY_PROVIDER_LINK_ACCOUNT = auto()
    IDENTITY_PROVIDER_LOGIN = auto()
    IDENTITY_PROVIDER_POST_LOGIN = auto()
    IDENTITY_PROVIDER_RESPONSE = auto()
    IDENTITY_PROVIDER_RETRIEVE_TOKEN = auto()
    IMPERSONATE = auto()
    INTROSPECT_TOKEN = auto()
    INVALID_SIGNATURE = auto()
    INVITE_ORG = auto()
    JWT_AUTHORIZATION_GRANT = auto()
    LOGIN = auto()
    LOGOUT = auto()
    OAUTH2_DEVICE_AUTH = auto()
    OAUTH2_DEVICE_CODE_TO_TOKEN = auto()
    OAUTH2_DEVICE_VERIFY_USER_CODE = auto()
    OAUTH2_EXTENSION_GRANT = auto()
    PERMISSION_TOKEN = auto()
    PUSHED_AUTHORIZATION_REQUEST = auto()
    REFRESH_TOKEN = auto()
    REGISTER = auto()
    REGISTER_NODE = auto()
    REMOVE_CREDENTIAL = auto()
    REMOVE_FEDERATED_IDENTITY = auto()
    REMOVE_TOTP = auto()
    RESET_PASSWORD = auto()
    RESTART_AUTHENTICATION = auto()
    REVOKE_GRANT = auto()
    SEND_IDENTITY_PROVIDER_LINK = auto()
    SEND_RESET_PASSWORD = auto()
    SEND_VERIFY_EMAIL = auto()
    TOKEN_EXCHANGE = auto()
    UNREGISTER_NODE = auto()
    UPDATE_CONSENT = auto()
    UPDATE_CREDENTIAL = auto()
    UPDATE_EMAIL = auto()
    UPDATE_PASSWORD = auto()
    UPDATE_PROFILE = auto()
    UPDATE_TOTP = auto()
    USER_DISABLED_BY_PERMANENT_LOCKOUT = auto()
    USER_DISABLED_BY_TEMPORARY_LOCKOUT = auto()
    USER_INFO_REQUEST = auto()
    USER_SESSION_DELETED = auto()
    VALIDATE_ACCESS_TOKEN = auto()
    VERIFIABLE_CREDENTIAL_CREATE_OFFER = auto()
    VERIFIABLE_CREDENTIAL_NONCE_REQUEST = auto()
    VERIFIABLE_CREDENTIAL_OFFER_REQUEST = auto()
    VERIFIABLE_CREDENTIAL_PRE_AUTHORIZED_GRANT = auto()
    VERIFIABLE_CREDENTIAL_REQUEST = auto()
    VERIFY_EMAIL = auto()
    VERIFY_PROFILE = auto()


def name_of(kind: EventType, *, failed: bool) -> str:
    """Return the name under which an event stands in settings, filters and answers."""
    return f"{kind}{_FAILED}" if failed else str(kind)


_SAVED_IF_ASKED: Final = frozenset(
    {
        EventType.CLIENT_INFO,
        EventType.IDENTITY_PROVIDER_RESPONSE,
        EventType.IDENTITY_PROVIDER_RETRIEVE_TOKEN,
        EventType.INTROSPECT_TOKEN,
        EventType.INVALID_SIGNATURE,
        EventType.PUSHED_AUTHORIZATION_REQUEST,
        EventType.REFRESH_TOKEN,
        EventType.REGISTER_NODE,
        EventType.UNREGISTER_NODE,
        EventType.USER_INFO_REQUEST,
        EventType.USER_SESSION_DELETED,
        EventType.VALIDATE_ACCESS_TOKEN,
        EventType.VERIFIABLE_CREDENTIAL_NONCE_REQUEST,
    }
)
"""Kinds of which none is stored unless the realm says so by name."""
_SAVED_AS_SUCCESS: Final = frozenset(
    {
        EventType.PERMISSION_TOKEN,
        EventType.USER_DISABLED_BY_PERMANENT_LOCKOUT,
        EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT,
    }
)
"""Kinds of which failures are not."""

KIND_OF: Final = {
    name_of(kind, failed=failed): kind for kind in EventType for failed in (False, True)
}
"""Name -> kind."""

ALL_NAMES: Final = tuple(sorted(KIND_OF))
"""Every name, as settings and filters may name it."""

SAVED_BY_DEFAULT: Final = tuple(
    sorted(
        name_of(kind, failed=failed)
        for kind in EventType
        for failed in (False, True)
        if kind not in _SAVED_IF_ASKED and not (failed and kind in _SAVED_AS_SUCCESS)
    )
)
"""What is stored where the realm names nothing (`enabledEventTypes`: [])."""

"""Events of users and administrators: types, names of details and errors, records, queries.

A failure has the name of its kind and `_ERROR`, so settings and filters know 132 names. A criterion
of a query that is not given is None, or empty.
Keycloak: EventType (26.7), 66 kinds; Event, AdminEvent, OperationType, ResourceType; 10.5 event
endpoints
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum, auto
from typing import Any, Final


class Detail:
    """The names of details. Keycloak: Details (26.7)."""

    IMPERSONATOR: Final = "impersonator"
    IMPERSONATOR_REALM: Final = "impersonator_realm"
    ACCESS_TOKEN_EXPIRATION_TIME: Final = "access_token_expiration_time"
    ACTION: Final = "action"
    AGE_OF_REFRESH_TOKEN: Final = "age_of_refresh_token"
    AUDIENCE: Final = "audience"
    AUTH_METHOD: Final = "auth_method"
    AUTH_TYPE: Final = "auth_type"
    CERTIFICATE_RENEWED_FROM: Final = "certificate_renewed_from"
    """The `x5t#S256` in a token that was used with a renewed certificate. An own one."""
    CLIENT_AUTH_METHOD: Final = "client_auth_method"
    CLIENT_POLICY_ERROR: Final = "client_policy_error"
    CLIENT_POLICY_ERROR_DETAIL: Final = "client_policy_error_detail"
    CODE_ID: Final = "code_id"
    CONSENT: Final = "consent"
    CONTEXT: Final = "context"
    CREDENTIAL_ID: Final = "credential_id"
    CREDENTIAL_TYPE: Final = "credential_type"
    CREDENTIAL_USER_LABEL: Final = "credential_user_label"
    CUSTOM_REQUIRED_ACTION: Final = "custom_required_action"
    DETAIL: Final = "detail"
    DEVICE: Final = "device"
    """The name in the certificate of a device. An own one: Keycloak has no such devices."""
    EMAIL: Final = "email"
    EXISTING_USER: Final = "existing_user"
    FIELDS_TO_UPDATE: Final = "fields_to_update"
    FIRST_NAME: Final = "first_name"
    GRANTED_CLIENT: Final = "granted_client"
    GRANT_TYPE: Final = "grant_type"
    LAST_NAME: Final = "last_name"
    NOT_BEFORE: Final = "not_before"
    NUM_FAILURES: Final = "num_failures"
    PREVIOUS_EMAIL: Final = "previous_email"
    PREVIOUS_FIRST_NAME: Final = "previous_first_name"
    PREVIOUS_LAST_NAME: Final = "previous_last_name"
    PREVIOUS_USERNAME: Final = "previous_username"
    PUBLIC_KEY_CREDENTIAL_AAGUID: Final = "public_key_credential_aaguid"
    PUBLIC_KEY_CREDENTIAL_ID: Final = "public_key_credential_id"
    PUBLIC_KEY_CREDENTIAL_LABEL: Final = "public_key_credential_label"
    REASON: Final = "reason"
    REDIRECT_URI: Final = "redirect_uri"
    REFRESH_TOKEN_ID: Final = "refresh_token_id"
    REFRESH_TOKEN_SUB: Final = "refresh_token_sub"
    REFRESH_TOKEN_TYPE: Final = "refresh_token_type"
    REGISTER_METHOD: Final = "register_method"
    REMEMBER_ME: Final = "remember_me"
    REQUESTED_TOKEN_TYPE: Final = "requested_token_type"
    RESPONSE_MODE: Final = "response_mode"
    RESPONSE_TYPE: Final = "response_type"
    REVOKED_CLIENT: Final = "revoked_client"
    SCOPE: Final = "scope"
    SELECTED_CREDENTIAL_ID: Final = "selected_credential_id"
    SIGNATURE_ALGORITHM: Final = "signature_algorithm"
    SIGNATURE_REQUIRED: Final = "signature_required"
    SUBJECT_TOKEN_CLIENT_ID: Final = "subject_token_client_id"
    TOKEN_ID: Final = "token_id"
    TOKEN_ISSUED_FOR: Final = "token_issued_for"
    TOKEN_TYPE: Final = "token_type"
    UPDATED_EMAIL: Final = "updated_email"
    UPDATED_FIRST_NAME: Final = "updated_first_name"
    UPDATED_LAST_NAME: Final = "updated_last_name"
    UPDATED_REFRESH_TOKEN_ID: Final = "updated_refresh_token_id"
    UPDATED_USERNAME: Final = "updated_username"
    USERNAME: Final = "username"
    USER_VERIFICATION_CHECKED: Final = "web_authn_authenticator_user_verification_checked"
    WEB_AUTHN_ERROR_DETAIL: Final = "web_authn_authentication_error_detail"
    WEB_AUTHN_REGISTRATION_ERROR: Final = "web_authn_registration_error"
    WEB_AUTHN_REGISTRATION_ERROR_DETAIL: Final = "web_authn_registration_error_detail"
    WITHHELD_ROLES: Final = "withheld_roles"
    X509_ISSUER: Final = "x509_cert_issuer_distinguished_name"
    X509_SERIAL: Final = "x509_cert_serial_number"
    X509_SUBJECT: Final = "x509_cert_subject_distinguished_name"


class EventError:
    """The names of errors. Keycloak: Errors (26.7)."""

    ACCESS_DENIED: Final = "access_denied"
    CLIENT_DISABLED: Final = "client_disabled"
    CLIENT_NOT_FOUND: Final = "client_not_found"
    CODE_VERIFIER_MISSING: Final = "code_verifier_missing"
    CONSENT_DENIED: Final = "consent_denied"
    COOKIE_NOT_FOUND: Final = "cookie_not_found"
    CREDENTIAL_NOT_FOUND: Final = "credential_not_found"
    DELETE_CREDENTIAL_FAILED: Final = "delete_credential_failed"
    DIFFERENT_USER_AUTHENTICATED: Final = "different_user_authenticated"
    EMAIL_IN_USE: Final = "email_in_use"
    EMAIL_SEND_FAILED: Final = "email_send_failed"
    EXPIRED_CODE: Final = "expired_code"
    EXPIRED_OAUTH2_DEVICE_CODE: Final = "expired_oauth2_device_code"
    GENERIC_AUTHENTICATION_ERROR: Final = "generic_authentication_error"
    INVALID_CLIENT: Final = "invalid_client"
    INVALID_CLIENT_CREDENTIALS: Final = "invalid_client_credentials"
    INVALID_CODE: Final = "invalid_code"
    INVALID_CODE_VERIFIER: Final = "invalid_code_verifier"
    INVALID_DPOP_PROOF: Final = "invalid_dpop_proof"
    INVALID_EMAIL: Final = "invalid_email"
    INVALID_OAUTH2_DEVICE_CODE: Final = "invalid_oauth2_device_code"
    INVALID_OAUTH2_USER_CODE: Final = "invalid_oauth2_user_code"
    INVALID_REDIRECT_URI: Final = "invalid_redirect_uri"
    INVALID_REGISTRATION: Final = "invalid_registration"
    INVALID_REQUEST: Final = "invalid_request"
    INVALID_SCOPE: Final = "invalid_scope"
    INVALID_TOKEN: Final = "invalid_token"
    INVALID_TOKEN_TYPE: Final = "invalid_token_type"
    INVALID_USER: Final = "invalid_user"
    INVALID_USER_CREDENTIALS: Final = "invalid_user_credentials"
    MISSING_CREDENTIAL_ID: Final = "missing_credential_id"
    NOT_ALLOWED: Final = "not_allowed"
    PASSWORD_CONFIRM_ERROR: Final = "password_confirm_error"
    PASSWORD_MISSING: Final = "password_missing"
    PASSWORD_REJECTED: Final = "password_rejected"
    PKCE_VERIFICATION_FAILED: Final = "pkce_verification_failed"
    REALM_DISABLED: Final = "realm_disabled"
    REGISTRATION_DISABLED: Final = "registration_disabled"
    REJECTED_BY_USER: Final = "rejected_by_user"
    RESOLVE_REQUIRED_ACTIONS: Final = "resolve_required_actions"
    SESSION_EXPIRED: Final = "session_expired"
    SLOW_DOWN: Final = "slow_down"
    SSL_REQUIRED: Final = "ssl_required"
    USER_DELETE_ERROR: Final = "user_delete_error"
    USER_DISABLED: Final = "user_disabled"
    USER_NOT_FOUND: Final = "user_not_found"
    USER_SESSION_NOT_FOUND: Final = "user_session_not_found"
    USER_TEMPORARILY_DISABLED: Final = "user_temporarily_disabled"
    USERNAME_MISSING: Final = "username_missing"
    USERNAME_IN_USE: Final = "username_in_use"


STANDARD_PAGE: Final = 100
LARGEST_PAGE: Final = 10_000
"""More come in several pages: each is one answer, held in memory whole."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` on, and until before `before`."""

    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Which of the events that match; `maximum` is at most LARGEST_PAGE."""

    first: int = 0
    maximum: int = STANDARD_PAGE
    newest_first: bool = True


@dataclass(frozen=True, slots=True)
class UserEventQuery:
    """Which user events; `names` are of types, failures apart."""

    names: tuple[str, ...] = ()
    client_id: str | None = None
    user_id: str | None = None
    ip_address: str | None = None
    period: Period = field(default_factory=Period)


@dataclass(frozen=True, slots=True)
class AdminEventQuery:
    """Which admin events; in `resource_path` each `*` stands for anything."""

    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_path: str | None = None
    auth_realm_id: str | None = None
    auth_client: str | tuple[str, ...] | None = None
    auth_user_id: str | tuple[str, ...] | None = None
    ip_address: str | None = None
    period: Period = field(default_factory=Period)


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


EVENT_NAMES: Final[Mapping[tuple[EventType, bool], str]] = {
    (kind, failed): f"{kind}{_FAILED}" if failed else str(kind)
    for kind in EventType
    for failed in (False, True)
}
"""The names of events in settings, filters and answers, by kind and whether it failed."""


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

KIND_OF: Final = {EVENT_NAMES[kind, failed]: kind for kind in EventType for failed in (False, True)}
"""Name -> kind."""

ALL_NAMES: Final = tuple(sorted(KIND_OF))
"""Every name, as settings and filters may name it."""

SAVED_BY_DEFAULT: Final = tuple(
    sorted(
        EVENT_NAMES[kind, failed]
        for kind in EventType
        for failed in (False, True)
        if kind not in _SAVED_IF_ASKED and not (failed and kind in _SAVED_AS_SUCCESS)
    )
)
"""What is stored where the realm names nothing (`enabledEventTypes`: [])."""


@dataclass(frozen=True, slots=True)
class UserEvent:
    """What a user or client did; `error` if it failed. `client_id` is as sent; no secrets."""

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
        return EVENT_NAMES[self.kind, self.error is not None]


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A user event on its way to SQL; `listeners` queue in the transaction that stores it."""

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
    """One successful change; `resource_path` is relative to the realm, None for the realm itself.

    `representation` is JSON text of fields that hold no secret.
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

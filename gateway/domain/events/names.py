"""The names of details and errors of user events."""

from typing import Final


class Detail:
    """The names of details. Keycloak: Details (26.7)."""

    ACCESS_TOKEN_EXPIRATION_TIME: Final = "access_token_expiration_time"
    AGE_OF_REFRESH_TOKEN: Final = "age_of_refresh_token"
    AUTH_METHOD: Final = "auth_method"
    CLIENT_AUTH_METHOD: Final = "client_auth_method"
    DETAIL: Final = "detail"
    GRANT_TYPE: Final = "grant_type"
    NOT_BEFORE: Final = "not_before"
    NUM_FAILURES: Final = "num_failures"
    REASON: Final = "reason"
    REFRESH_TOKEN_ID: Final = "refresh_token_id"
    REFRESH_TOKEN_SUB: Final = "refresh_token_sub"
    REFRESH_TOKEN_TYPE: Final = "refresh_token_type"
    REVOKED_CLIENT: Final = "revoked_client"
    SCOPE: Final = "scope"
    SIGNATURE_ALGORITHM: Final = "signature_algorithm"
    SIGNATURE_REQUIRED: Final = "signature_required"
    TOKEN_ID: Final = "token_id"
    TOKEN_ISSUED_FOR: Final = "token_issued_for"
    TOKEN_TYPE: Final = "token_type"
    UPDATED_REFRESH_TOKEN_ID: Final = "updated_refresh_token_id"
    USERNAME: Final = "username"
    X509_ISSUER: Final = "x509_cert_issuer_distinguished_name"
    X509_SERIAL: Final = "x509_cert_serial_number"
    X509_SUBJECT: Final = "x509_cert_subject_distinguished_name"


class EventError:
    """The names of errors. Keycloak: Errors (26.7)."""

    ACCESS_DENIED: Final = "access_denied"
    CLIENT_DISABLED: Final = "client_disabled"
    CLIENT_NOT_FOUND: Final = "client_not_found"
    CONSENT_DENIED: Final = "consent_denied"
    INVALID_CLIENT: Final = "invalid_client"
    INVALID_CLIENT_CREDENTIALS: Final = "invalid_client_credentials"
    INVALID_REQUEST: Final = "invalid_request"
    INVALID_TOKEN: Final = "invalid_token"
    INVALID_TOKEN_TYPE: Final = "invalid_token_type"
    INVALID_USER: Final = "invalid_user"
    INVALID_USER_CREDENTIALS: Final = "invalid_user_credentials"
    NOT_ALLOWED: Final = "not_allowed"
    RESOLVE_REQUIRED_ACTIONS: Final = "resolve_required_actions"
    USER_DISABLED: Final = "user_disabled"
    USER_NOT_FOUND: Final = "user_not_found"
    USER_SESSION_NOT_FOUND: Final = "user_session_not_found"
    USER_TEMPORARILY_DISABLED: Final = "user_temporarily_disabled"

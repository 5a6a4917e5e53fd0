"""The names of what a user event tells beside its own fields. Keycloak: Details (26.7)."""

from typing import Final

ACCESS_TOKEN_EXPIRATION_TIME: Final = "access_token_expiration_time"  # noqa: S105 - a name
AGE_OF_REFRESH_TOKEN: Final = "age_of_refresh_token"  # noqa: S105 - a name
AUTH_METHOD: Final = "auth_method"
CLIENT_AUTH_METHOD: Final = "client_auth_method"
DETAIL: Final = "detail"
GRANT_TYPE: Final = "grant_type"
NOT_BEFORE: Final = "not_before"
NUM_FAILURES: Final = "num_failures"
REASON: Final = "reason"
REFRESH_TOKEN_ID: Final = "refresh_token_id"  # noqa: S105 - a name
REFRESH_TOKEN_SUB: Final = "refresh_token_sub"  # noqa: S105 - a name
REFRESH_TOKEN_TYPE: Final = "refresh_token_type"  # noqa: S105 - a name
REVOKED_CLIENT: Final = "revoked_client"
SCOPE: Final = "scope"
SIGNATURE_ALGORITHM: Final = "signature_algorithm"
SIGNATURE_REQUIRED: Final = "signature_required"
TOKEN_ID: Final = "token_id"  # noqa: S105 - a name
TOKEN_ISSUED_FOR: Final = "token_issued_for"  # noqa: S105 - a name
TOKEN_TYPE: Final = "token_type"  # noqa: S105 - a name
UPDATED_REFRESH_TOKEN_ID: Final = "updated_refresh_token_id"  # noqa: S105 - a name
USERNAME: Final = "username"
X509_ISSUER: Final = "x509_cert_issuer_distinguished_name"
X509_SERIAL: Final = "x509_cert_serial_number"
X509_SUBJECT: Final = "x509_cert_subject_distinguished_name"

"""The state of a sign-in, and what a step of it asks the user for."""

from gateway.domain.authentication.challenge import (
    Challenge,
    Device,
    FormName,
    MessageKey,
    OtpEnrollment,
    ProfileField,
    RecoveryCodeList,
)
from gateway.domain.authentication.session import (
    LOCALE,
    AuthenticationSession,
    ExecutionStatus,
    Stage,
    expires_at,
    new_authentication_session,
    new_browser_id,
    session_of_one_request,
)
from gateway.domain.authentication.web_authn import (
    AssertionRequest,
    KeyChoice,
    RegistrationRequest,
)

"""The authenticators and conditions of the password grant, a file each."""

from gateway.authentication.direct_grant.allow_access import AllowAccess
from gateway.authentication.direct_grant.client_certificate import identity_in
from gateway.authentication.direct_grant.client_scope import RequestedClientScope
from gateway.authentication.direct_grant.credential_used import CredentialUsed
from gateway.authentication.direct_grant.deny_access import DenyAccess
from gateway.authentication.direct_grant.one_time_password import ValidateOneTimePassword
from gateway.authentication.direct_grant.runner import FlowRunner
from gateway.authentication.direct_grant.session_limits import SessionLimits
from gateway.authentication.direct_grant.sign_in import Authenticator, Condition, SignIn
from gateway.authentication.direct_grant.sub_flow_executed import SubFlowExecuted
from gateway.authentication.direct_grant.user_attribute import UserAttribute
from gateway.authentication.direct_grant.user_configured import UserConfigured
from gateway.authentication.direct_grant.user_role import UserRole
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.sessions import SessionStore


def flow_runner(
    codes: OneTimePasswordCheck, directory: Directory, sessions: SessionStore
) -> FlowRunner:
    """Return the runner with every authenticator and condition. `sessions` are the online ones."""
    authenticators: tuple[Authenticator, ...] = (
        ValidateOneTimePassword(codes),
        AllowAccess(),
        DenyAccess(),
        SessionLimits(sessions),
    )
    by_id = {each.id: each for each in authenticators}
    conditions: tuple[Condition, ...] = (
        UserConfigured(by_id),
        UserRole(directory),
        UserAttribute(directory),
        RequestedClientScope(),
        CredentialUsed(),
        SubFlowExecuted(),
    )
    return FlowRunner(by_id, {each.id: each for each in conditions})

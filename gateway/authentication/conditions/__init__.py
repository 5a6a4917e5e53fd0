"""The conditions of flows, a file each."""

from collections.abc import Callable

from gateway.authentication.accounts import Accounts
from gateway.authentication.conditions.client_scope import RequestedClientScope
from gateway.authentication.conditions.credential_used import CredentialUsed
from gateway.authentication.conditions.level_of_authentication import LevelOfAuthentication
from gateway.authentication.conditions.sub_flow_executed import SubFlowExecuted
from gateway.authentication.conditions.user_attribute import UserAttribute
from gateway.authentication.conditions.user_configured import UserConfigured
from gateway.authentication.conditions.user_role import UserRole
from gateway.authentication.engine.sign_in import Authenticator, Condition
from gateway.domain.ports.directory import Directory


def conditions(
    accounts: Accounts, directory: Directory, find: Callable[[str], Authenticator]
) -> tuple[Condition, ...]:
    """Return every condition that acts; `find` returns the authenticator with an id."""
    return (
        UserConfigured(accounts, find),
        UserRole(directory),
        UserAttribute(directory),
        RequestedClientScope(),
        CredentialUsed(),
        SubFlowExecuted(),
        LevelOfAuthentication(accounts),
    )

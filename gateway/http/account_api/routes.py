"""The URLs of the account API."""

from starlette.routing import Route

from gateway.accounts import AccountUseCases
from gateway.http.account_api.applications import application_operations
from gateway.http.account_api.credentials import credential_operations
from gateway.http.account_api.endpoint import ROUTES, AccountEndpoint
from gateway.http.account_api.operations import AccountOperation
from gateway.http.account_api.others import other_operations
from gateway.http.account_api.profile import profile_operations
from gateway.http.account_api.sessions import session_operations
from gateway.http.pages import Pages
from gateway.http.realm_endpoint import RealmContext


def account_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return every row."""
    return (
        *profile_operations(use_cases),
        *session_operations(use_cases),
        *credential_operations(use_cases),
        *application_operations(use_cases),
        *other_operations(use_cases),
    )


def build_account_api_routes(
    use_cases: AccountUseCases, pages: Pages, context: RealmContext
) -> list[Route]:
    """Return every URL as two routes: the account, and everything below it."""
    operations = account_operations(use_cases)
    return [
        Route(path, AccountEndpoint(path, operations, use_cases.access, pages, context))
        for path in ROUTES
    ]

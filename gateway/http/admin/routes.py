"""The table of the admin API's URLs. A trailing slash makes no difference.

Keycloak: 7; clients: the npm admin client sends trailing slashes and follows no redirect
"""

from collections.abc import Mapping
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.admin.access import AdminAccess
from gateway.admin.lockouts import Lockouts
from gateway.admin.user_listing import UserListing
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.storage import Database
from gateway.http.admin.attack_detection import AttackDetectionHandlers
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.endpoint import AdminEndpoint, AdminHandler, AdminServices
from gateway.http.admin.users import UsersHandlers
from gateway.http.realm_endpoint import RealmContext
from gateway.protocol.access_tokens import AccessTokens

_REALM: Final = "/admin/realms/{realm}"
_LOCKOUTS: Final = f"{_REALM}/attack-detection/brute-force/users"


def build_admin_routes(
    context: RealmContext,
    access_tokens: AccessTokens,
    database: Database,
    login_failures: LoginFailureStore,
) -> list[BaseRoute]:
    """Return every URL of the admin API."""
    services = AdminServices(
        context, AdminAuthentication(context, access_tokens), AdminAccess(database)
    )
    users = UsersHandlers(UserListing(database))
    attacks = AttackDetectionHandlers(Lockouts(database, login_failures, context.clock))
    rows: dict[str, Mapping[str, AdminHandler]] = {
        f"{_REALM}/users": {"GET": users.page},
        f"{_REALM}/users/count": {"GET": users.count},
        f"{_REALM}/users/{{user_id}}": {"GET": users.one},
        _LOCKOUTS: {"GET": attacks.list, "DELETE": attacks.forget_all},
        f"{_LOCKOUTS}/{{user_id}}": {"GET": attacks.status, "DELETE": attacks.forget},
    }
    return [
        Route(path, endpoint)
        for row, handlers in rows.items()
        for endpoint in [AdminEndpoint(row, handlers, services)]
        for path in (row, f"{row}/")
    ]

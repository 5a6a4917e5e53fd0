"""/admin/realms/{realm}/client-policies: one executor acts, `secret-rotation`. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.clients import POLICIES, PROFILES, ClientPolicies
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, AdminHandler, Body, Media, Operation, Query
from gateway.http.admin.requests import AdminRequest, done_reply, entity_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)


class ClientPolicyHandlers:
    """Answers what is asked about client profiles and policies."""

    def __init__(self, policies: ClientPolicies) -> None:
        self._policies = policies

    async def profiles(self, request: AdminRequest) -> Reply:
        """Return the profiles; there are no global ones."""
        found = await self._policies.shown(request.realm, PROFILES)
        every = request.flag("include-global-profiles")
        return entity_reply(found | {"globalProfiles": []} if every else found)

    async def policies(self, request: AdminRequest) -> Reply:
        """Return the policies; there are no global ones."""
        found = await self._policies.shown(request.realm, POLICIES)
        every = request.flag("include-global-policies")
        return entity_reply(found | {"globalPolicies": []} if every else found)

    async def put_profiles(self, request: AdminRequest) -> Reply:
        """Replace the profiles."""
        await self._policies.replace(request.acting, PROFILES, request.body)
        return done_reply()

    async def put_policies(self, request: AdminRequest) -> Reply:
        """Replace the policies."""
        await self._policies.replace(request.acting, POLICIES, request.body)
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        return (
            *_policy_rows("profiles", self.profiles, self.put_profiles),
            *_policy_rows("policies", self.policies, self.put_policies),
        )


def _policy_rows(kind: str, get: AdminHandler, put: AdminHandler) -> tuple[Operation, ...]:
    path, schema = f"{REALM}/client-policies/{kind}", f"Client{kind.capitalize()}Representation"
    return (
        Operation(
            "GET",
            path,
            get,
            VIEW_REALM,
            f"The client {kind} of the realm",
            _TAG,
            returns=schema,
            query=(Query(f"include-global-{kind}", "boolean"),),
            versioned=True,
        ),
        Operation(
            "PUT",
            path,
            put,
            _MANAGE,
            f"Replace the client {kind}: only the executor `secret-rotation` acts",
            _TAG,
            body=Body(Media.OBJECT, schema),
            versioned=True,
        ),
    )

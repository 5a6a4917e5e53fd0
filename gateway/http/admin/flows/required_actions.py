"""/admin/realms/{realm}/authentication/required-actions. Keycloak: 7.4."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.flows import RequiredActions
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply, entity_reply
from gateway.http.replies import Reply

_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_LIST: Final = (*VIEW_REALM, AdminRole.QUERY_USERS, AdminRole.VIEW_USERS)
"""Who may learn which actions there are: they can be asked of users."""
_TAG: Final = "Authentication Management"
_ROOT: Final = f"{REALM}/authentication"
_ACTION: Final = "RequiredActionProviderRepresentation"
_CONFIG: Final = "RequiredActionConfigRepresentation"


class RequiredActionHandlers:
    """Answers what is asked about required actions."""

    def __init__(self, actions: RequiredActions) -> None:
        self._actions = actions

    async def every(self, request: AdminRequest) -> Reply:
        """Return the actions."""
        return document_reply(await self._actions.every(request.realm))

    async def one(self, request: AdminRequest) -> Reply:
        """Return an action."""
        return entity_reply(await self._actions.one(request.realm, request.path["alias"]))

    async def replace(self, request: AdminRequest) -> Reply:
        """Change an action."""
        await self._actions.replace(request.acting, request.path["alias"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Take an action away."""
        await self._actions.remove(request.acting, request.path["alias"])
        return done_reply()

    async def move(self, request: AdminRequest, *, up: bool) -> Reply:
        """Let an action change places with its neighbour."""
        await self._actions.move(request.acting, request.path["alias"], up=up)
        return done_reply()

    async def config(self, request: AdminRequest) -> Reply:
        """Return what is set of an action."""
        return document_reply(await self._actions.config(request.realm, request.path["alias"]))

    async def configure(self, request: AdminRequest) -> Reply:
        """Set something, or nothing, of an action."""
        await self._actions.configure(request.acting, request.path["alias"], request.body)
        return done_reply()

    async def described(self, request: AdminRequest) -> Reply:
        """Return what could be set of an action."""
        return document_reply(self._actions.described(request.path["alias"]))

    async def unregistered(self, request: AdminRequest) -> Reply:
        """Return what there is and the realm does not have."""
        return document_reply(await self._actions.unregistered(request.realm))

    async def register(self, request: AdminRequest) -> Reply:
        """Take an action that the realm does not have."""
        await self._actions.register(request.acting, request.body)
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        return (*self._rows(), *self._settings(), *self._places())

    def _rows(self) -> Iterable[Operation]:
        every = f"{_ROOT}/required-actions"
        one = f"{every}/{{alias}}"
        yield Operation(
            *("GET", every, self.every, _LIST, "The required actions", _TAG),
            returns=f"[{_ACTION}]",
        )
        yield Operation(
            *("GET", one, self.one, VIEW_REALM, "One required action", _TAG),
            returns=_ACTION,
            versioned=True,
        )
        yield Operation(
            *("PUT", one, self.replace, _MANAGE, "Ask for an action, or not", _TAG),
            body=Body(Media.OBJECT, _ACTION),
            versioned=True,
        )
        yield Operation(
            *("DELETE", one, self.remove, _MANAGE, "Take an action away", _TAG),
            versioned=True,
        )

    def _settings(self) -> Iterable[Operation]:
        config = f"{_ROOT}/required-actions/{{alias}}/config"
        yield Operation(
            *("GET", config, self.config, VIEW_REALM, "What is set of an action", _TAG),
            returns=_CONFIG,
        )
        yield Operation(
            *("PUT", config, self.configure, _MANAGE, "Configure an action", _TAG),
            body=Body(Media.OBJECT, _CONFIG),
        )
        yield Operation("DELETE", config, self.configure, _MANAGE, "Configure it no more", _TAG)
        yield Operation(
            *("GET", f"{config}-description", self.described, VIEW_REALM),
            "What may be set of an action",
            _TAG,
            returns="object",
        )

    def _places(self) -> Iterable[Operation]:
        for verb, up in (("raise", True), ("lower", False)):
            yield Operation(
                "POST",
                f"{_ROOT}/required-actions/{{alias}}/{verb}-priority",
                partial(self.move, up=up),
                _MANAGE,
                f"Let an action change places with the one {'before' if up else 'after'}",
                _TAG,
                status=204,
            )
        yield Operation(
            "GET",
            f"{_ROOT}/unregistered-required-actions",
            self.unregistered,
            VIEW_REALM,
            "Actions that the realm does not have",
            _TAG,
            returns="[object]",
        )
        yield Operation(
            "POST",
            f"{_ROOT}/register-required-action",
            self.register,
            _MANAGE,
            "Take an action that the realm does not have",
            _TAG,
            body=Body(Media.OBJECT),
            status=204,
        )

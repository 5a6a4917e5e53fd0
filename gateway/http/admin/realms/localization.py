"""/admin/realms/{realm}/localization: stored only. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.realms import Localizations
from gateway.http.admin.operations import (
    PLAIN_TEXT,
    REALM,
    Body,
    Decided,
    Media,
    Operation,
    Query,
    State,
)
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_STORED: Final = State.STORED_ONLY
_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_TEXT: Final = (b"content-type", b"text/plain;charset=UTF-8")


class LocalizationHandlers:
    """Answers what is asked about a realm's texts."""

    def __init__(self, texts: Localizations) -> None:
        self._texts = texts

    async def locales(self, request: AdminRequest) -> Reply:
        """Return the languages."""
        return document_reply(await self._texts.locales(request.realm))

    async def texts(self, request: AdminRequest) -> Reply:
        """Return the texts of a language."""
        fallback = request.flag("useRealmDefaultLocaleFallback")
        locale = request.path["locale"]
        return document_reply(await self._texts.texts(request.realm, locale, fallback=fallback))

    async def add(self, request: AdminRequest) -> Reply:
        """Add texts."""
        await self._texts.add(request.acting, request.path["locale"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Take a language away."""
        await self._texts.remove(request.acting, request.path["locale"])
        return done_reply()

    async def text(self, request: AdminRequest) -> Reply:
        """Return one text."""
        path = request.path
        found = await self._texts.text(request.realm, path["locale"], path["key"])
        return Reply(200, (_TEXT,), found.encode())

    async def put(self, request: AdminRequest) -> Reply:
        """Add or change one text."""
        path = request.path
        await self._texts.put(request.acting, path["locale"], path["key"], request.body)
        return done_reply()

    async def remove_text(self, request: AdminRequest) -> Reply:
        """Take one text away."""
        path = request.path
        await self._texts.remove_text(request.acting, path["locale"], path["key"])
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        every = f"{REALM}/localization"
        one, anybody = f"{every}/{{locale}}", Decided.ANY_ROLE
        text = f"{one}/{{key}}"
        return (
            Operation(
                *("GET", every, self.locales, anybody, "Languages of which there are texts", _TAG),
                returns="[string]",
                state=_STORED,
            ),
            Operation(
                *("GET", one, self.texts, anybody, "The texts of a language", _TAG),
                returns="object",
                query=(Query("useRealmDefaultLocaleFallback", "boolean"),),
                state=_STORED,
            ),
            Operation(
                *("POST", one, self.add, _MANAGE, "Add texts, or change them", _TAG),
                body=Body(Media.OBJECT),
                status=204,
                state=_STORED,
            ),
            Operation(
                *("DELETE", one, self.remove, _MANAGE, "Take all texts of a language away", _TAG),
                state=_STORED,
            ),
            Operation(
                *("GET", text, self.text, anybody, "One text", _TAG),
                returns=PLAIN_TEXT,
                state=_STORED,
            ),
            Operation(
                *("PUT", text, self.put, _MANAGE, "Add a text, or change it", _TAG),
                body=Body(Media.TEXT),
                state=_STORED,
            ),
            Operation(
                *("DELETE", text, self.remove_text, _MANAGE, "Take a text away", _TAG),
                state=_STORED,
            ),
        )

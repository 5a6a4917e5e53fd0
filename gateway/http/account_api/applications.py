"""The applications of the user, and the consents that the user has given to them."""

from http import HTTPStatus
from typing import Any

from gateway.accounts import AccountUseCases
from gateway.accounts.applications import OwnApplication
from gateway.accounts.consents import OwnConsent, shown_consent
from gateway.domain.texts import Texts
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.admin.operations import Body
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.representations.accounts.applications import (
    parse_consent,
    render_addresses,
    render_client,
    render_consent,
)

_CONSENT = "applications/{clientId}/consent"


class _Applications:
    def __init__(self, use_cases: AccountUseCases) -> None:
        self._applications = use_cases.applications
        self._consents = use_cases.consents

    async def list(self, request: AccountRequest) -> Reply:
        name = request.query.get("name") or ""
        found = await self._applications.list(request.caller, name)
        texts = await request.texts()
        document = [_application(request, one, texts) for one in found]
        return json_reply(document, content_type=JSON_UTF8)

    async def consent(self, request: AccountRequest) -> Reply:
        found = await self._consents.find(request.caller, request.path["clientId"])
        if found is None:
            return Reply(HTTPStatus.NO_CONTENT)
        return await _consent(request, found)

    async def store(self, request: AccountRequest) -> Reply:
        scopes = parse_consent(request.body)
        stored = await self._consents.store(request.caller, request.path["clientId"], scopes)
        return await _consent(request, stored)

    async def revoke(self, request: AccountRequest) -> Reply:
        await self._consents.revoke(request.caller, request.path["clientId"])
        return Reply(HTTPStatus.NO_CONTENT)


def application_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return the rows."""
    handlers, body = _Applications(use_cases), Body("ConsentRepresentation")
    return (
        AccountOperation("GET", "applications", handlers.list),
        AccountOperation("GET", _CONSENT, handlers.consent),
        AccountOperation("POST", _CONSENT, handlers.store, body),
        AccountOperation("PUT", _CONSENT, handlers.store, body),
        AccountOperation("DELETE", _CONSENT, handlers.revoke),
    )


def _application(request: AccountRequest, own: OwnApplication, texts: Texts) -> dict[str, Any]:
    client, given = own.client, own.consent
    consent: dict[str, Any] = {}
    if given is not None:
        scopes = shown_consent(request.caller, given).scopes
        consent = {"consent": render_consent(given, scopes, texts.named)}
    return {
        **render_client(client, in_use=own.in_use, offline_access=own.offline_access),
        **render_addresses(client, consented=given is not None),
        **consent,
    }


async def _consent(request: AccountRequest, found: OwnConsent) -> Reply:
    texts = await request.texts()
    reads = request.caller.request.event.kind is None
    brief = not reads or request.flag("briefRepresentation", default=True)
    document = render_consent(found.consent, found.scopes, texts.named, brief=brief)
    return json_reply(document, content_type=JSON_UTF8)

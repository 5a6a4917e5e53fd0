"""The user's own credentials: their types, and what the user calls them."""

from http import HTTPStatus
from typing import Any, Final

from gateway.accounts import AccountUseCases
from gateway.accounts.credentials import (
    AccountCredentials,
    Category,
    CodesLeft,
    OwnCredential,
    OwnCredentialType,
)
from gateway.admin.access import InvalidRequest
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.admin.operations import Body, Media
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.representations.accounts.credentials import message, parse_own_label
from gateway.representations.field_table import without_none
from gateway.representations.users import listed_credential

_INVALID: Final = "invalidRequestMessage"
_LABEL: Final = Body("", Media.JSON, largest=4096, unreadable=_INVALID)
_CATEGORIES: Final = {
    Category.BASIC_AUTHENTICATION: "basic-authentication",
    Category.TWO_FACTOR: "two-factor",
    Category.PASSWORDLESS: "passwordless",
}


class _Credentials:
    def __init__(self, credentials: AccountCredentials) -> None:
        self._credentials = credentials

    async def list(self, request: AccountRequest) -> Reply:
        found = await self._credentials.list(request.caller)
        wanted, listed = request.query.get("type"), request.flag("user-credentials", default=True)
        document = [_type(one, listed=listed) for one in found if wanted in {None, one.kind.type}]
        return json_reply(document, content_type=JSON_UTF8)

    async def label(self, request: AccountRequest) -> Reply:
        if request.body is not None and not isinstance(request.body, str):
            raise InvalidRequest(_INVALID)
        label = parse_own_label(request.body)
        await self._credentials.label(request.caller, request.path["id"], label)
        return Reply(HTTPStatus.NO_CONTENT)

    async def remove(self, request: AccountRequest) -> Reply:
        await self._credentials.remove(request.caller, request.path["id"])
        return Reply(HTTPStatus.NO_CONTENT)


def credential_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return the rows."""
    handlers = _Credentials(use_cases.credentials)
    return (
        AccountOperation("GET", "credentials", handlers.list),
        AccountOperation("PUT", "credentials/{id}/label", handlers.label, _LABEL),
        AccountOperation("DELETE", "credentials/{id}", handlers.remove),
    )


def _type(found: OwnCredentialType, *, listed: bool) -> dict[str, Any]:
    kind = found.kind
    return without_none(
        {
            "type": kind.type,
            "category": _CATEGORIES[kind.category],
            "displayName": f"{kind.text}-display-name",
            "helptext": f"{kind.text}-help-text",
            "iconCssClass": kind.icon,
            "createAction": found.create_action,
            "updateAction": found.update_action,
            "removeable": found.removable,
            "userCredentialMetadatas": [_credential(one) for one in found.credentials]
            if listed
            else None,
        }
    )


def _credential(own: OwnCredential) -> dict[str, Any]:
    codes = {} if own.codes is None else _codes(own.codes)
    return {"credential": listed_credential(own.credential), **codes}


def _codes(codes: CodesLeft) -> dict[str, Any]:
    used = f"{codes.total - codes.left}/{codes.total}"
    found = {"infoMessage": message("recovery-codes-number-used", used)}
    if codes.too_few:
        found["warningMessageTitle"] = message("recovery-codes-number-remaining", str(codes.left))
        found["warningMessageDescription"] = message("recovery-codes-generate-new-codes")
    return found

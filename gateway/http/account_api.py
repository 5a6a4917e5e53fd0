"""The JSON API of a user's own account: /realms/{realm}/account and everything below it.

Order: caller (401), origin of the page (403), path (404), method (405), body (400, 413, 415); the
use case requires the role (403). A cookie is never looked at, so no other site can use one. The
certificates of the user are our addition. Keycloak: 17 (account API), 17.1 access, 17.6 groups
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.accounts import AccountUseCases
from gateway.accounts.access import AccountAccess, AccountCaller, AccountRole
from gateway.accounts.applications import OwnApplication, OwnConsent, shown_consent
from gateway.accounts.credentials import (
    Category,
    CodesLeft,
    OwnCredential,
    OwnCredentialType,
)
from gateway.accounts.profile import rules_for
from gateway.accounts.sessions import (
    OwnDevice,
    OwnSession,
    SignInCertificate,
)
from gateway.authentication.profile_updates import ProfileRejected
from gateway.domain.localization import LocalePreferences, Texts
from gateway.domain.refusals import ApiRefusal, InvalidRequest, MissingPart, NotFound
from gateway.domain.roles import EffectiveRoles
from gateway.http.admin.operations import Body, Media, read_admin_body
from gateway.http.cross_origin import ACCOUNT_API
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange, split_path
from gateway.http.forms import parse_form
from gateway.http.pages import Pages, PageVisit
from gateway.http.realm_endpoint import RealmContext, RealmEndpoint
from gateway.http.replies import JSON_UTF8, NO_STORE, Reply, json_reply
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.sender_constraint import token_credential
from gateway.representations.accounts import (
    is_conflict,
    message,
    parse_consent,
    parse_own_label,
    parse_own_profile,
    render_addresses,
    render_client,
    render_client_names,
    render_consent,
    render_own_profile,
    render_violations,
)
from gateway.representations.field_table import without_none
from gateway.representations.groups import GroupDetails, group_answer
from gateway.representations.users import listed_credential

_TRUE: Final = "true"


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """An admitted request with its JSON `body`; `texts` returns those of the user's language."""

    caller: AccountCaller
    path: Mapping[str, str]
    query: Parameters
    texts: Callable[[], Awaitable[Texts]]
    body: Any = field(default=None, repr=False)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a query parameter; any text but `true` is false."""
        text = self.query.raw(name)
        return default if text is None else text.lower() == _TRUE


AccountHandler = Callable[[AccountRequest], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AccountOperation:
    """`path` is relative to the account: segments, `{name}` for any one."""

    method: str
    path: str
    handler: AccountHandler
    body: Body | None = None


_LARGEST: Final = 256 * 1024
"""Bytes of a profile: a hundred attributes of a few values."""


class AccountApi:
    """What answers the operations: a use case each."""

    def __init__(self, use_cases: AccountUseCases) -> None:
        self._use_cases = use_cases

    async def get_profile(self, request: AccountRequest) -> Reply:
        wanted = request.flag("userProfileMetadata", default=True)
        found = await self._use_cases.profile.read_profile(request.caller, with_metadata=wanted)
        document = render_own_profile(found.user, found.values, found.metadata)
        return json_reply(document, content_type=JSON_UTF8)

    async def replace_profile(self, request: AccountRequest) -> Reply:
        sent = parse_own_profile(request.body)
        try:
            await self._use_cases.profile.replace_profile(request.caller, sent)
        except ProfileRejected as rejected:
            taken = is_conflict(rejected.violations)
            document = render_violations(rejected.violations, rules_for(request.caller))
            status = HTTPStatus.CONFLICT if taken else HTTPStatus.BAD_REQUEST
            return json_reply(document, status=status)
        return Reply(HTTPStatus.NO_CONTENT)

    async def list_credentials(self, request: AccountRequest) -> Reply:
        found = await self._use_cases.credentials.list_credentials(request.caller)
        wanted, listed = request.query.get("type"), request.flag("user-credentials", default=True)
        document = [_type(one, listed=listed) for one in found if wanted in {None, one.kind.type}]
        return json_reply(document, content_type=JSON_UTF8)

    async def label_credential(self, request: AccountRequest) -> Reply:
        if request.body is not None and not isinstance(request.body, str):
            raise InvalidRequest(_INVALID)
        label = parse_own_label(request.body)
        await self._use_cases.credentials.label_credential(
            request.caller, request.path["id"], label
        )
        return Reply(HTTPStatus.NO_CONTENT)

    async def remove_credential(self, request: AccountRequest) -> Reply:
        await self._use_cases.credentials.remove_credential(request.caller, request.path["id"])
        return Reply(HTTPStatus.NO_CONTENT)

    async def list_sessions(self, request: AccountRequest) -> Reply:
        found = await self._use_cases.sessions.list_sessions(request.caller)
        return json_reply([_session(one) for one in found], content_type=JSON_UTF8)

    async def list_devices(self, request: AccountRequest) -> Reply:
        found = await self._use_cases.sessions.devices(request.caller)
        return json_reply([_device(one) for one in found], content_type=JSON_UTF8)

    async def end_sessions(self, request: AccountRequest) -> Reply:
        await self._use_cases.sessions.end_all(request.caller, current=request.flag("current"))
        return Reply(HTTPStatus.NO_CONTENT)

    async def end_session(self, request: AccountRequest) -> Reply:
        await self._use_cases.sessions.end(request.caller, request.path["id"])
        return Reply(HTTPStatus.NO_CONTENT)

    async def list_applications(self, request: AccountRequest) -> Reply:
        name = request.query.get("name") or ""
        found = await self._use_cases.applications.list_applications(request.caller, name)
        texts = await request.texts()
        document = [_application(request, one, texts) for one in found]
        return json_reply(document, content_type=JSON_UTF8)

    async def find_consent(self, request: AccountRequest) -> Reply:
        found = await self._use_cases.consents.find_consent(
            request.caller, request.path["clientId"]
        )
        if found is None:
            return Reply(HTTPStatus.NO_CONTENT)
        return await _consent(request, found)

    async def store_consent(self, request: AccountRequest) -> Reply:
        scopes, client_id = parse_consent(request.body), request.path["clientId"]
        stored = await self._use_cases.consents.store_consent(request.caller, client_id, scopes)
        return await _consent(request, stored)

    async def revoke_consent(self, request: AccountRequest) -> Reply:
        await self._use_cases.consents.revoke_consent(request.caller, request.path["clientId"])
        return Reply(HTTPStatus.NO_CONTENT)

    async def list_groups(self, request: AccountRequest) -> Reply:
        brief = request.flag("briefRepresentation", default=True)
        found = await self._use_cases.groups.list_groups(request.caller)
        roles = {} if brief else await self._use_cases.groups.roles(request.caller)
        details = {
            one.id: GroupDetails(roles=None if brief else roles.get(one.id, EffectiveRoles()))
            for one in found
        }
        document = [group_answer(one, details[one.id]) for one in found]
        return json_reply(document, content_type=JSON_UTF8)

    async def list_certificates(self, request: AccountRequest) -> Reply:
        found = await self._use_cases.certificates.list_certificates(request.caller)
        return json_reply([_certificate(one) for one in found], content_type=JSON_UTF8)


async def _locales(request: AccountRequest) -> Reply:
    settings = request.caller.realm.localization
    supported = settings.supported_locales if settings.enabled else ()
    return json_reply(sorted(supported), content_type=JSON_UTF8)


_INVALID: Final = "invalidRequestMessage"
_LABEL: Final = Body("", Media.JSON, largest=4096, unreadable=_INVALID)
_CATEGORIES: Final = {
    Category.BASIC_AUTHENTICATION: "basic-authentication",
    Category.TWO_FACTOR: "two-factor",
    Category.PASSWORDLESS: "passwordless",
}


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


def _session(one: OwnSession) -> dict[str, Any]:
    session = one.session
    return {
        "id": session.id,
        "ipAddress": session.ip_address,
        "started": _seconds(session.started_at),
        "lastAccess": _seconds(session.refreshed_at),
        "expires": _seconds(one.ends_at),
        "clients": [render_client_names(client) for client in one.clients],
        "browser": one.device.browser,
        **_current(is_current=one.is_current),
    }


def _device(found: OwnDevice) -> dict[str, Any]:
    device = found.device
    return {
        "os": device.system,
        "osVersion": device.system_version,
        "device": device.device,
        "lastAccess": _seconds(found.used_at),
        **_current(is_current=found.is_current),
        "sessions": [_session(one) for one in found.sessions],
        "mobile": device.mobile,
    }


def _current(*, is_current: bool) -> dict[str, bool]:
    return {"current": True} if is_current else {}


def _seconds(instant: datetime) -> int:
    return int(instant.timestamp())


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


_MANAGE: Final = (AccountRole.MANAGE_ACCOUNT,)
_VIEW: Final = (AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)


def _certificate(seen: SignInCertificate) -> dict[str, Any]:
    return {
        "serialNumber": seen.serial,
        "subject": seen.subject,
        "issuer": seen.issuer,
        "firstSeen": int(seen.first_seen.timestamp()),
        "lastSeen": int(seen.last_seen.timestamp()),
        "ipAddress": seen.last_address,
        "signIns": seen.sign_ins,
    }


async def _linked_accounts(request: AccountRequest) -> Reply:
    request.caller.require(*_VIEW)
    return json_reply([], content_type=JSON_UTF8)


async def _link(request: AccountRequest) -> Reply:
    request.caller.require(*_MANAGE)
    raise MissingPart("No identity provider can be linked.")


async def _unlink(request: AccountRequest) -> Reply:
    request.caller.require(*_MANAGE)
    raise InvalidRequest("identityProviderNotFoundMessage")


async def _resources(request: AccountRequest) -> Reply:  # noqa: ARG001 - for every caller
    return json_reply(
        {"errorMessage": "User-managed access not enabled"}, status=HTTPStatus.FORBIDDEN
    )


async def _organizations(request: AccountRequest) -> Reply:  # noqa: ARG001 - for every caller
    raise NotFound("HTTP 404 Not Found")


async def _verifiable_credentials(request: AccountRequest) -> Reply:  # noqa: ARG001 - the same
    raise InvalidRequest("Feature oid4vc-vci not enabled")


ROOT: Final = "/realms/{realm}/account"
ROUTES: Final = (ROOT, f"{ROOT}/{{rest:path}}")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE")
_ABOVE: Final = 3
"""Segments of a path before those of the account."""
_NOT_FOUND: Final = "HTTP 404 Not Found"


class AccountEndpoint(RealmEndpoint):
    """An ASGI endpoint; its responses contain personal data, so they are never cached."""

    def __init__(
        self,
        route: str,
        operations: Iterable[AccountOperation],
        access: AccountAccess,
        pages: Pages,
        context: RealmContext,
    ) -> None:
        super().__init__(
            *(route, _unreachable, context),
            methods=_METHODS,
            always=NO_STORE,
            cross_origin=ACCOUNT_API,
        )
        self._operations = tuple((tuple(row.path.split("/")), row) for row in operations)
        self._access = access
        self._pages = pages

    async def _parameters(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - the body is JSON
        exchange: Exchange,  # noqa: ARG002
    ) -> Parameters:
        return Parameters.from_pairs(parse_form(scope["query_string"]))

    async def _reply(
        self, request: ProtocolRequest, exchange: Exchange, scope: Scope, receive: Receive
    ) -> Reply:
        caller = await self._access.by_token(request, token_credential(request.authorization))
        _note(exchange, caller)
        operation, path = self._find(scope)
        exchange.route = f"{ROOT}/{operation.path}".rstrip("/")
        document = None
        if operation.body is not None:
            headers = exchange.facts.headers
            document = await read_admin_body(receive, headers, operation.body)
        texts = partial(self._texts, caller, exchange)
        asked = AccountRequest(caller, path, request.parameters, texts, document)
        try:
            return await operation.handler(asked)
        except ApiRefusal:
            if request.event.error is not None:
                self._context.events.answered(request)
            raise

    def _find(self, scope: Scope) -> tuple[AccountOperation, Mapping[str, str]]:
        """Return the operation and the values of its path; raises NotFound, MethodNotAllowed."""
        segments = tuple(split_path(scope)[_ABOVE:]) or ("",)
        matching = {
            row.method: (row, dict(_values(template, segments)))
            for template, row in self._operations
            if _matches(template, segments)
        }
        if not matching:
            raise NotFound(_NOT_FOUND)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in matching:
            raise MethodNotAllowed(tuple(matching))
        return matching[method]

    def _texts(self, caller: AccountCaller, exchange: Exchange) -> Awaitable[Texts]:
        language = exchange.facts.headers.text(b"accept-language") or ""
        preferences = LocalePreferences(user=caller.user.user.locale, browser=language)
        return self._pages.texts(PageVisit(realm=caller.realm, preferences=preferences))


def _matches(template: tuple[str, ...], segments: tuple[str, ...]) -> bool:
    return len(template) == len(segments) and all(
        word.startswith("{") or word == segment
        for word, segment in zip(template, segments, strict=True)
    )


def _values(template: tuple[str, ...], segments: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    pairs = zip(template, segments, strict=True)
    return ((word[1:-1], segment) for word, segment in pairs if word.startswith("{"))


def _note(exchange: Exchange, caller: AccountCaller) -> None:
    exchange.log.user = caller.user_id
    if caller.client is not None:
        exchange.log.client = caller.client.client.client_id


async def _unreachable(request: ProtocolRequest, exchange: Exchange) -> Reply:  # noqa: ARG001
    raise LookupError("an operation answers")


_PROFILE_BODY: Final = Body("UserRepresentation", largest=_LARGEST)
_CONSENT_BODY: Final = Body("ConsentRepresentation")
_CONSENT: Final = "applications/{clientId}/consent"


def account_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return every row."""
    own = AccountApi(use_cases)
    return (
        AccountOperation("GET", "", own.get_profile),
        AccountOperation("POST", "", own.replace_profile, _PROFILE_BODY),
        AccountOperation("GET", "supportedLocales", _locales),
        AccountOperation("GET", "sessions", own.list_sessions),
        AccountOperation("GET", "sessions/devices", own.list_devices),
        AccountOperation("DELETE", "sessions", own.end_sessions),
        AccountOperation("DELETE", "sessions/{id}", own.end_session),
        AccountOperation("GET", "credentials", own.list_credentials),
        AccountOperation("PUT", "credentials/{id}/label", own.label_credential, _LABEL),
        AccountOperation("DELETE", "credentials/{id}", own.remove_credential),
        AccountOperation("GET", "applications", own.list_applications),
        AccountOperation("GET", _CONSENT, own.find_consent),
        AccountOperation("POST", _CONSENT, own.store_consent, _CONSENT_BODY),
        AccountOperation("PUT", _CONSENT, own.store_consent, _CONSENT_BODY),
        AccountOperation("DELETE", _CONSENT, own.revoke_consent),
        AccountOperation("GET", "certificates", own.list_certificates),
        AccountOperation("GET", "groups", own.list_groups),
        AccountOperation("GET", "linked-accounts", _linked_accounts),
        AccountOperation("GET", "linked-accounts/{alias}", _link),
        AccountOperation("DELETE", "linked-accounts/{alias}", _unlink),
        AccountOperation("GET", "resources", _resources),
        AccountOperation("GET", "resources/shared-with-me", _resources),
        AccountOperation("GET", "resources/shared-with-others", _resources),
        AccountOperation("GET", "organizations", _organizations),
        AccountOperation("GET", "verifiable-credentials", _verifiable_credentials),
        AccountOperation("GET", "issued-verifiable-credentials", _verifiable_credentials),
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

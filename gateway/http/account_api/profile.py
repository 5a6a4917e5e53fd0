"""GET and POST of the account itself, and the locales that the user may choose."""

from http import HTTPStatus
from typing import Final

from gateway.accounts import AccountUseCases
from gateway.accounts.profile import AccountProfile, rules_for
from gateway.authentication.profile_updates import ProfileRejected
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.admin.operations import Body
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.representations.accounts.profile import (
    is_conflict,
    parse_own_profile,
    render_own_profile,
    render_violations,
)

_LARGEST: Final = 256 * 1024
"""Bytes of a profile: a hundred attributes of a few values."""


class _Profile:
    def __init__(self, profile: AccountProfile) -> None:
        self._profile = profile

    async def read(self, request: AccountRequest) -> Reply:
        wanted = request.flag("userProfileMetadata", default=True)
        found = await self._profile.read(request.caller, with_metadata=wanted)
        document = render_own_profile(found.user, found.values, found.metadata)
        return json_reply(document, content_type=JSON_UTF8)

    async def replace(self, request: AccountRequest) -> Reply:
        sent = parse_own_profile(request.body)
        try:
            await self._profile.replace(request.caller, sent)
        except ProfileRejected as rejected:
            taken = is_conflict(rejected.violations)
            document = render_violations(rejected.violations, rules_for(request.caller))
            status = HTTPStatus.CONFLICT if taken else HTTPStatus.BAD_REQUEST
            return json_reply(document, status=status)
        return Reply(HTTPStatus.NO_CONTENT)


async def _locales(request: AccountRequest) -> Reply:
    settings = request.caller.realm.localization
    supported = settings.supported_locales if settings.enabled else ()
    return json_reply(sorted(supported), content_type=JSON_UTF8)


def profile_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return the rows."""
    handlers = _Profile(use_cases.profile)
    body = Body("UserRepresentation", largest=_LARGEST)
    return (
        AccountOperation("GET", "", handlers.read),
        AccountOperation("POST", "", handlers.replace, body),
        AccountOperation("GET", "supportedLocales", _locales),
    )

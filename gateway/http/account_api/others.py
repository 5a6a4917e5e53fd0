"""Groups, and what Keycloak answers where a realm has no identity providers and no such features.

The certificates of the user are our addition. Keycloak: 17.6
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from gateway.accounts import AccountUseCases
from gateway.accounts.access import AccountRole
from gateway.accounts.certificates import AccountCertificates, SignInCertificate
from gateway.accounts.groups import AccountGroups
from gateway.admin.access import InvalidRequest, MissingPart, NotFound
from gateway.domain.roles import EffectiveRoles
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.representations.groups import GroupDetails, group_answer

_MANAGE: Final = (AccountRole.MANAGE_ACCOUNT,)
_VIEW: Final = (AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)


class _Groups:
    def __init__(self, groups: AccountGroups) -> None:
        self._groups = groups

    async def list(self, request: AccountRequest) -> Reply:
        brief = request.flag("briefRepresentation", default=True)
        found = await self._groups.list(request.caller)
        roles = {} if brief else await self._groups.roles(request.caller)
        document = [group_answer(one, _details(roles, one.id, brief=brief)) for one in found]
        return json_reply(document, content_type=JSON_UTF8)


def _details(roles: Mapping[str, EffectiveRoles], group: str, *, brief: bool) -> GroupDetails:
    return GroupDetails(roles=None if brief else roles.get(group, EffectiveRoles()))


class _Certificates:
    def __init__(self, certificates: AccountCertificates) -> None:
        self._certificates = certificates

    async def list(self, request: AccountRequest) -> Reply:
        found = await self._certificates.list(request.caller)
        return json_reply([_certificate(one) for one in found], content_type=JSON_UTF8)


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


def other_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return the rows."""
    groups = _Groups(use_cases.groups)
    certificates = _Certificates(use_cases.certificates)
    return (
        AccountOperation("GET", "certificates", certificates.list),
        AccountOperation("GET", "groups", groups.list),
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

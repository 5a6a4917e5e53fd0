"""Settings that a realm has twice: as a field of their own and in `attributes`.

A change of one of the two changes both: the changed one counts; if both
differ, the field. The typed field is the truth, the attribute is written from it.
Keycloak: the attributes of the device grant and of one-time passwords; the fields that it stores
as attributes and leaves out of the attributes that it returns (26.7)
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.domain.realm import Realm
from gateway.representations.refusals import join

_NUMBER = re.compile("[0-9]{1,10}")

_STORED_AS_ATTRIBUTES: Final = (
    "actionTokenGeneratedByAdminLifespan actionTokenGeneratedByUserLifespan"
    " adminPermissionsEnabled bruteForceProtected bruteForceStrategy"
    " clientOfflineSessionIdleTimeout clientOfflineSessionMaxLifespan clientSessionIdleTimeout"
    " clientSessionMaxLifespan defaultSignatureAlgorithm failureFactor maxDeltaTimeSeconds"
    " maxFailureWaitSeconds maxSecondaryAuthFailures maxTemporaryLockouts"
    " minimumQuickLoginWaitSeconds offlineSessionMaxLifespan offlineSessionMaxLifespanEnabled"
    " organizationsEnabled permanentLockout quickLoginCheckMilliSeconds scimApiEnabled"
    " verifiableCredentialsEnabled waitIncrementSeconds"
)
MIRRORED: Final[Mapping[str, str]] = {
    "oauth2DeviceCodeLifespan": "oauth2DeviceCodeLifespan",
    "oauth2DevicePollingInterval": "oauth2DevicePollingInterval",
    "realmReusableOtpCode": "otpPolicyCodeReusable",
    **{name: name for name in _STORED_AS_ATTRIBUTES.split()},
}
"""The attribute's name, and the field's."""
_LISTED_ONCE_SET: Final = tuple(
    name for name in MIRRORED if re.fullmatch("client(Offline)?Session[A-Z].*", name)
)
"""Fields that stand among the attributes as well from when they have another value than before."""
LISTED_IF_GIVEN: Final = frozenset(_LISTED_ONCE_SET)
"""Fields that stand among the attributes of a new realm whose file has them."""
NEVER_LISTED: Final = frozenset(_STORED_AS_ATTRIBUTES.split()) - LISTED_IF_GIVEN
"""Fields that Keycloak stores as attributes and never lists there."""
_LISTS: Final = {
    "webAuthnPolicyExtraOrigins": "webAuthnPolicyExtraOrigins",
    "webAuthnPolicyExtraOriginsPasswordless": "webAuthnPolicyPasswordlessExtraOrigins",
}
"""The same of lists, by the attribute's name: their items stand there with commas between."""
_WEB_AUTHN: Final = "webAuthnPolicy"
_PASSWORDLESS: Final = "Passwordless"
_UNCHECKED: Final = frozenset({"id", "realm", "displayName", "displayNameHtml", "attributes"})
"""Members that an attribute of the same name may contradict: it promises no protection."""
_SEPARATORS = re.compile("[^0-9a-z]+")


class MemberSpellings:
    """The members of a realm that names of attributes spell, in any case and with any separator.

    Keycloak stores passkey policies with `Passwordless` at the end of the name.
    """

    def __init__(self, members: Iterable[str]) -> None:
        known = [name for name in members if name not in _UNCHECKED]
        stored = {_stored_name(name): name for name in known}
        spellings = {**{name: name for name in known}, **stored, **MIRRORED}
        self._members = {_plain(spelling): name for spelling, name in spellings.items()}

    def find_member(self, attribute: str) -> str | None:
        return self._members.get(_plain(attribute))

    def repeats_member(self, attribute: str, text: str, answer: Mapping[str, Any]) -> bool:
        """Return whether the attribute has the value of its member in `answer`."""
        member = self.find_member(attribute)
        return member is not None and text == member_text(answer.get(member))


def _stored_name(member: str) -> str:
    if not member.startswith(f"{_WEB_AUTHN}{_PASSWORDLESS}"):
        return member
    return f"{_WEB_AUTHN}{member.removeprefix(f'{_WEB_AUTHN}{_PASSWORDLESS}')}{_PASSWORDLESS}"


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


def member_text(value: Any) -> str:
    """Return the text of a member as Keycloak stores it among the attributes; objects have none."""
    if value is None or isinstance(value, Mapping):
        return ""
    return ",".join(map(str, value)) if isinstance(value, list) else _text(value)


def with_mirrored(
    given: Mapping[str, tuple[str, Any]], before: Mapping[str, Any]
) -> dict[str, tuple[str, Any]]:
    """Return `given` with each field that was changed by its attribute.

    `before` is the answer that the author of `given` may have started from.
    """
    at, attributes = given.get("attributes", ("", {}))
    if not isinstance(attributes, Mapping):
        return dict(given)
    changed = {
        field: (join(at, attribute), _from_text(attributes[attribute]))
        for attribute, field in MIRRORED.items()
        if attributes.get(attribute) is not None
        and _text(before[field]) != _text(attributes[attribute])
        and (field not in given or given[field][1] == before[field])
    }
    return {**given, **changed}


def with_written(realm: Realm, answer: Mapping[str, Any]) -> Realm:
    """Return the realm with its mirrored attributes as `answer` has the fields."""
    attributes = {
        name: _text(answer[MIRRORED[name]]) if name in MIRRORED else text
        for name, text in realm.attributes.items()
    }
    return replace(realm, attributes=attributes)


def with_listed(
    realm: Realm, answer: Mapping[str, Any], before: Mapping[str, Any], spellings: MemberSpellings
) -> Realm:
    """Return the realm with the attributes of the fields that `answer` has other than `before`."""
    attributes = dict(realm.attributes)
    for name in attributes.keys() - MIRRORED.keys():
        member = spellings.find_member(name)
        if member is not None and answer.get(member) != before.get(member):
            attributes[name] = member_text(answer.get(member))
    for name in _LISTED_ONCE_SET:
        if answer[name] != before[name]:
            attributes[name] = _text(answer[name])
    for name, field in _LISTS.items():
        if answer[field] != before[field]:
            attributes[name] = ",".join(answer[field])
            if not answer[field]:
                del attributes[name]
    return replace(realm, attributes=attributes)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_text(value: Any) -> Any:
    is_number = isinstance(value, str) and _NUMBER.fullmatch(value)
    return int(value) if is_number else value

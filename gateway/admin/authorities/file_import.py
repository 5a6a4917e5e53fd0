"""The certificate authorities of a realm file: `certificateAuthorities`.

An authority with the same certificate is replaced; none is removed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.admin.authorities.registration import new_authority
from gateway.domain.authorities import MOST_AUTHORITIES, Authority
from gateway.domain.errors import FieldError
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.authorities import AuthorityInput, parse_authorities
from gateway.representations.refusals import collect_refusals, join, raise_all
from gateway.representations.spelling import Names

_MEMBER: Final = "certificateAuthorities"
_NAMES: Final = Names((_MEMBER,))


def read_authorities(document: Mapping[str, Any], path: str) -> tuple[AuthorityInput, ...]:
    """Return the authorities of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    at, found = _NAMES.collect(document, path, errors).get(_MEMBER, ("", []))
    raise_all(errors)
    return parse_authorities(found, at)


async def store_authorities(
    stores: Stores, realm: Realm, given: Sequence[AuthorityInput], parser: AuthorityParser
) -> bool:
    """Store the authorities of a file, after its clients; return whether anything has changed.

    Raises InvalidInput for a certificate that cannot be used, an unknown client or too many.
    """
    if not given:
        return False
    errors: list[FieldError] = []
    new: list[Authority] = []
    async for one in in_slices(given):
        client: str | None = None
        if one.client is not None:
            found = await stores.clients.find_by_client_id(realm.id, one.client)
            if found is None:
                errors.append(FieldError(join(one.path, "client"), one.client, "a client"))
                continue
            client = found.id
        with collect_refusals(errors):
            new.append(new_authority(parser, one, client))
    raise_all(errors)
    known = {(item.client, item.sha256): item for item in await stores.authorities.list(realm.id)}
    changed = [item for item in new if item != known.get((item.client, item.sha256))]
    total = len(known.keys() | {(item.client, item.sha256) for item in new})
    if total > MOST_AUTHORITIES:
        allowed = f"at most {MOST_AUTHORITIES} in the realm"
        raise_all((FieldError(_MEMBER, f"{total} authorities", allowed),))
    for authority in changed:
        await stores.authorities.put(realm.id, authority)
    return bool(changed)

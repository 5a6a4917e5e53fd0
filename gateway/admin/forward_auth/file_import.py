"""The protected sites of a realm file: `guardSites`.

A site with the same name is replaced, but keeps its `bearerAudience` where the file has none; no
site is removed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.forward_auth import Site
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.forward_auth import (
    MOST_SITES,
    parse_realm_sites,
    with_bearer_audience,
)
from gateway.representations.refusals import raise_all
from gateway.representations.spelling import Names

_MEMBER: Final = "guardSites"
_NAMES: Final = Names((_MEMBER,))


def read_sites(document: Mapping[str, Any], realm_name: str, path: str) -> tuple[Site, ...]:
    """Return the sites of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    at, sites = _NAMES.collect(document, path, errors).get(_MEMBER, ("", []))
    raise_all(errors)
    return parse_realm_sites(sites, at, realm_name)


async def store_sites(stores: Stores, realm: Realm, given: Sequence[Site]) -> bool:
    """Store the sites of a file; return whether anything has changed.

    Raises AlreadyExists for a host of another site, and InvalidInput for too many sites.
    """
    if not given:
        return False
    known = {site.name: site for site in await stores.sites.list(realm.id)}
    new = [with_bearer_audience(site, known.get(site.name)) for site in given]
    changed = [site for site in new if site != known.get(site.name)]
    total = len(known.keys() | {site.name for site in given})
    if total > MOST_SITES:
        raise_all((FieldError(_MEMBER, f"{total} sites", f"at most {MOST_SITES} in the realm"),))
    for site in changed:
        await stores.sites.put(realm.id, site)
    return bool(changed)

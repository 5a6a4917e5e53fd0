"""What is wrong with the addresses of a client, in Keycloak's words.

An address with a script in it would run where a page links to it; a fragment never reaches the
client. Keycloak: validation of clients (26.7). Spec: RFC 3986, RFC 6749 §3.1.2
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from gateway.domain.clients import UNSAFE_SCHEMES, Client

_SIGN: Final = r"[A-Za-z0-9._~:/#@!$&'()*+,;=-]|[^\x00-\x7f]|%[0-9A-Fa-f]{2}"
_ADDRESS: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://\[[0-9A-Fa-f:.]+\](?=[:/?#]|$))?"
    rf"(?:{_SIGN})*"
    rf"(?:\?(?:{_SIGN}|[?\[\]])*)?"
)
"""Brackets stand round an address of IPv6, and in a query."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NOTHING_BEHIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
_OF_REDIRECTS: Final = "+"
_ORIGIN: Final = re.compile(r"(?i)https?://[^/?#\\@\s*]+")
_OF_URLS: Final = frozenset({"http", "https", "ftp", "file", "jar", "mailto"})
_PLACEHOLDERS: Final = ("${authBaseUrl}", "${authAdminUrl}")
_SEPARATOR: Final = "##"
_NOTIFICATIONS: Final = "ciba.backchannel.client.notification.endpoint"
_SECTOR: Final = "sectorIdentifierUri"


@dataclass(frozen=True, slots=True)
class _Field:
    """An address in words. `is_url` demands a scheme that is known."""

    label: str
    invalid: str = "is not a valid URL"
    illegal: str = "uses an illegal scheme"
    is_url: bool = True
    may_have_fragment: bool = True
    from_root: bool = False
    """It may begin at the root of the client."""


def _redirect(label: str) -> _Field:
    return _Field(label, "is not a valid URI", is_url=False, may_have_fragment=False)


_ROOT: Final = _Field("Root URL", may_have_fragment=False)
_KEPT: Final = {
    "baseUrl": _Field("Base URL", from_root=True),
    "adminUrl": _Field("Admin URL", from_root=True),
}
_ATTRIBUTES: Final = {
    "backchannel.logout.url": _Field("Backchannel logout URL", from_root=True),
    "frontchannel.logout.url": _Field("Front-channel logout URL", from_root=True),
    "logoUri": _Field("Logo URL", is_url=False),
    "policyUri": _Field("Policy URL"),
    "tosUri": _Field("Terms of service URL"),
    "jwks.url": _Field("JWKS URL", from_root=True),
}
_REDIRECTS: Final = _redirect("A redirect URI")
_LISTS: Final = {
    "post.logout.redirect.uris": _redirect("A post-logout redirect URI"),
    "request.uris": _Field(
        "Valid request URIs",
        "has an invalid value",
        "has a value with illegal scheme",
        is_url=False,
    ),
}


@dataclass(frozen=True, slots=True)
class WrongAddress:
    """An address that is refused; `text` is public."""

    text: str
    address: str
    is_redirect: bool = False


def wrong_addresses(client: Client) -> tuple[WrongAddress, ...]:
    """Return what is wrong, in Keycloak's order."""
    return tuple(_wrong(client))


def own_urls(client: Client) -> Iterator[str]:
    """Yield the root, base and admin URL, as they were given."""
    for name in ("rootUrl", *_KEPT):
        if address := client.document.get(name):
            yield address


def redirect_uris(client: Client) -> tuple[str, ...]:
    """Return the redirect URIs, as they were given."""
    return tuple(client.document.get("redirectUris", ()))


def client_addresses(client: Client) -> dict[str, Sequence[str]]:
    """Return every address of the client, by its name in client policies.

    What stands for other addresses is replaced by them.
    """
    attributes = client.attributes
    single = {
        "rootUrl": client.document.get("rootUrl"),
        "adminUrl": client.document.get("adminUrl"),
        "baseUrl": client.document.get("baseUrl"),
        "jwksUri": attributes.get("jwks.url"),
        "backchannelLogoutUrl": attributes.get("backchannel.logout.url"),
        "frontchannelLogoutUrl": attributes.get("frontchannel.logout.url"),
        "cibaClientNotificationEndpoint": attributes.get(_NOTIFICATIONS),
        "logoUri": attributes.get("logoUri"),
        "policyUri": attributes.get("policyUri"),
        "tosUri": attributes.get("tosUri"),
    }
    sectors = (mapper.config.get(_SECTOR) for mapper in client.protocol_mappers)
    several: dict[str, Iterable[str | None]] = {
        "redirectUris": redirect_uris(client),
        "webOrigins": client.allowed_origins or (),
        "requestUris": client.request_objects.uris,
        "postLogoutRedirectUris": client.redirects.post_logout_patterns,
        "sectorIdentifierUri": sectors,
    }
    found = {name: (address,) for name, address in single.items()} | several
    return {name: [each for each in addresses if each] for name, addresses in found.items()}


def explained(wrong: Iterable[WrongAddress]) -> str:
    """Return what is wrong as one public text without repetitions."""
    return "; ".join(dict.fromkeys(one.text for one in wrong))


def origins_of(redirect_uris: Iterable[Any]) -> list[str]:
    """Return the web origins of the addresses that have one, each once."""
    found = (_ORIGIN.match(uri) for uri in redirect_uris if isinstance(uri, str))
    return list(dict.fromkeys(origin.group() for origin in found if origin))


def allowed_origins(
    web_origins: tuple[str, ...], document: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """Return web origins, with those of the document's redirect URIs where `+` stands for them.

    None where there is no web origin. Keycloak: web origins, valid redirect URIs
    """
    if _OF_REDIRECTS not in web_origins:
        return web_origins or None
    root = document.get("rootUrl") or ""
    addresses = (
        f"{root}{uri}" if uri.startswith("/") else uri for uri in document.get("redirectUris", ())
    )
    own = (origin for origin in web_origins if origin != _OF_REDIRECTS)
    return tuple(dict.fromkeys((*own, *origins_of(addresses))))


def _wrong(client: Client) -> Iterator[WrongAddress]:
    root = client.document.get("rootUrl") or ""
    for text in _judged(_ROOT, root):
        yield WrongAddress(text, root)
    for field, address in _single(client):
        for text in _judged(field, address, root):
            yield WrongAddress(text, address)
    for address in client.document.get("redirectUris", ()):
        for text in _judged(_REDIRECTS, address):
            yield WrongAddress(text, address, is_redirect=True)
    for name, field in _LISTS.items():
        for address in client.attributes.get(name, "").split(_SEPARATOR):
            for text in _judged(field, address):
                yield WrongAddress(text, address)


def _single(client: Client) -> Iterator[tuple[_Field, str]]:
    for name, field in _KEPT.items():
        yield field, client.document.get(name) or ""
    for name, field in _ATTRIBUTES.items():
        yield field, client.attributes.get(name, "")


def _judged(field: _Field, address: str, root: str = "") -> Iterator[str]:
    """Yield a fragment and an illegal scheme, or else that it is no address at all."""
    if field.from_root and address.startswith("/"):
        address = f"{root or 'https://root'}{address}"
    if not address or address.startswith(_PLACEHOLDERS):
        return
    is_address = _ADDRESS.fullmatch(address) is not None
    problems = list(_problems(field, address)) if is_address else []
    if not problems and not (is_address and _is_whole(field, address)):
        problems = [field.invalid]
    yield from (f"{field.label} {problem}" for problem in problems)


def _problems(field: _Field, address: str) -> Iterator[str]:
    if "#" in address and not field.may_have_fragment:
        yield "must not contain an URL fragment"
    if _scheme(address) in UNSAFE_SCHEMES:
        yield field.illegal


def _is_whole(field: _Field, address: str) -> bool:
    if address.count("#") > 1 or _NOTHING_BEHIND.fullmatch(address):
        return False
    return not field.is_url or (_scheme(address) in _OF_URLS and _has_a_place(address))


def _scheme(address: str) -> str:
    found = _SCHEME.match(address)
    return found.group(1).lower() if found else ""


def _has_a_place(address: str) -> bool:
    try:
        _ = urlsplit(address).port
    except ValueError:
        return False
    return True

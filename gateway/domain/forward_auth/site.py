"""Protected sites: hosts behind a proxy, and rules that say which requests reach them.

A rule is compared with the decoded path of `target.py`. The first rule of a site whose path and
method match decides.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.forward_auth.hosts import AmbiguousTarget
from gateway.domain.forward_auth.target import LONGEST_URI, check_path

_BELOW: Final = "/*"


class Credential(StrEnum):
    """What a caller may identify itself with."""

    SESSION = "session"
    BEARER = "bearer"
    CERTIFICATE = "certificate"


EVERY_CREDENTIAL: Final = frozenset(Credential)


class BearerAudience(StrEnum):
    """The `aud` that a bearer token needs where the rule names no audiences."""

    SITE = "site"
    """The site's client. A site without a client accepts no token then."""
    ANY = "any"
    """Every token of the site's realms, also one for another service."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """`/admin` is that path, `/admin/*` is `/admin` and everything below, `/*` is every path.

    Text is decoded: `/café`, not `/caf%C3%A9`. Raises ValueError for a pattern that is no path or
    has a `*` anywhere but as its last segment.
    """

    text: str

    def __post_init__(self) -> None:
        path = "/" if self.text == _BELOW else self.path
        if len(self.text) > LONGEST_URI:
            raise ValueError(f"a path of at most {LONGEST_URI} characters")
        if "*" in path or (self.covers_below and self.path.endswith("/")):
            raise ValueError("a path with `*` as its last segment alone")
        try:
            check_path(path)
        except AmbiguousTarget as refusal:
            raise ValueError(str(refusal)) from None

    @property
    def covers_below(self) -> bool:
        """Whether it matches everything below the path too."""
        return self.text.endswith(_BELOW)

    @property
    def path(self) -> str:
        """The path without `/*`; empty for every path."""
        return self.text.removesuffix(_BELOW)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an identity needs: one of each kind that is not empty.

    `client_roles` are `client/role`. `groups` are paths such as `/a/b`; a group covers its
    subgroups. `certificates` are names of a certificate that the realm trusts, see
    `CertificateName`.
    """

    realm_roles: tuple[str, ...] = ()
    client_roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Which requests it decides and what they need.

    `methods` is None for every method; GET covers HEAD. An `anonymous` rule lets every caller
    pass and asserts no identity. With `bound_only` a bearer token has to be bound to the caller's
    certificate or to a DPoP key. A bearer token needs one of the `audiences` in its `aud`; without
    them the site decides.
    """

    name: str
    paths: tuple[PathPattern, ...]
    methods: frozenset[str] | None = None
    anonymous: bool = False
    requirements: Requirements = Requirements()
    accepts: frozenset[Credential] = EVERY_CREDENTIAL
    bound_only: bool = False
    audiences: tuple[str, ...] = ()

    @property
    def decided_methods(self) -> frozenset[str] | None:
        """The methods of the requests that it decides, None for every method."""
        if self.methods is None or "GET" not in self.methods:
            return self.methods
        return self.methods | {"HEAD"}


@dataclass(frozen=True, slots=True)
class Site:
    """Protected hosts with one list of rules.

    `hosts` are in the normal form of `hosts.py`, and may be wildcards. `realms[0]`
    signs browsers in as `client` (a clientId; None: browsers are not signed in). Bearer tokens of
    any of the `realms` count by their issuer, certificates by the first realm that trusts them.
    `audience` asks for a JWT for the service, which names it. With `cookie_domain` the hosts share
    one session cookie. `bearer_audience` is None for a site that was stored, or written into the
    rules file, without it: every token counts, with a warning. Without `forward_authorization` the
    proxy removes the header Authorization before the service.
    """

    name: str
    hosts: tuple[str, ...]
    realms: tuple[str, ...]
    rules: tuple[Rule, ...]
    client: str | None = None
    audience: str | None = None
    cookie_domain: str | None = None
    bearer_audience: BearerAudience | None = None
    forward_authorization: bool = True

    def token_audiences(self, rule: Rule) -> tuple[str, ...] | None:
        """Return the audiences of which a bearer token needs one; None where none is needed."""
        if rule.audiences:
            return rule.audiences
        if self.bearer_audience is not BearerAudience.SITE:
            return None
        return () if self.client is None else (self.client,)

    @property
    def unchecked_rules(self) -> tuple[Rule, ...]:
        """The rules that accept bearer tokens for other services."""
        return tuple(
            rule
            for rule in self.rules
            if not rule.anonymous
            and Credential.BEARER in rule.accepts
            and self.token_audiences(rule) is None
        )


@dataclass(frozen=True, slots=True)
class UnreadableSite:
    """A site of a realm that a later version has stored; `reason` is why this one cannot read it.

    Its hosts are refused. It can be listed, replaced and deleted.
    """

    name: str
    realm: str
    reason: str

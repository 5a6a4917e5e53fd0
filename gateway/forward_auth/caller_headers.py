"""The headers by which services know their caller, of this gateway and of other products.

A caller must not set them for a service. The proxies remove them; nginx and Traefik know no
patterns, so the gateway refuses a request with a header that they cannot remove: in another
spelling, or of a family without being listed. `scripts/removed_headers.py` writes the list into the
configurations of the proxies and into docs/removed-headers.md. attacks: A4, B6
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gateway.forward_auth.identity_headers import AUTHORIZATION, IDENTITY_HEADERS


@dataclass(frozen=True, slots=True)
class HeaderFamily:
    """The headers of one product; `beginnings` are those of further names, in lower case."""

    product: str
    names: tuple[str, ...]
    beginnings: tuple[str, ...] = ()


SET_BY_PROXY: Final = (
    *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"),
    *("X-Real-IP", "X-Request-Id", *IDENTITY_HEADERS),
)
"""Overwritten by every proxy, so not removed."""
OWN_FAMILIES: Final = (
    HeaderFamily(
        "Realmgate and Authelia",
        (
            *("X-Realmgate-Proxy-Secret", "X-Realmgate-Server", AUTHORIZATION, "Remote-Name"),
            *("Remote-Addr", "Remote-Host", "Remote-Ident"),
        ),
        ("remote-", "x-realmgate-"),
    ),
    HeaderFamily(
        "forwarding",
        (
            *("Forwarded", "X-Forwarded-By", "X-Forwarded-Prefix", "X-Forwarded-Server"),
            *("X-Forwarded-Scheme", "X-Forwarded-Protocol", "X-Forwarded-Ssl", "X-Forwarded-Uri"),
            *("X-Forwarded-Url", "X-Forwarded-Path", "X-Forwarded-Method", "X-Original-URI"),
            *("X-Original-URL", "X-Original-Method", "X-Original-Request", "X-Original-Host"),
            *("X-Original-For", "X-Original-Proto", "X-Original-Remote-Addr", "X-Rewrite-URL"),
            *("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Client-IP"),
        ),
        ("x-original-", "x-rewrite-"),
    ),
    HeaderFamily(
        "client certificates",
        (
            *("ssl-client-cert", "ssl-client-verify", "ssl-client-dn", "ssl-client-subject-dn"),
            *("ssl-client-issuer-dn", "ssl-client-s-dn", "ssl-client-i-dn", "ssl-client-serial"),
            *("ssl-client-fingerprint", "ssl-client-cn", "ssl-client-s-dn-cn"),
            *("X-SSL-Cert", "X-SSL-Client-Cert", "X-SSL-Client-Verify", "X-SSL-Client-DN"),
            *("X-SSL-Client-S-DN", "X-SSL-Client-I-DN", "X-SSL-Client-CN", "X-SSL-Client-Serial"),
            *("X-SSL-Client-SHA1", "X-SSL-Client-Fingerprint", "X-SSL-Client-Has-Cert"),
            *("X-SSL-Issuer", "X-SSL-Subject", "X-Client-Cert", "X-Client-Certificate"),
            *("X-Client-Verify", "X-Client-DN", "X-Client-S-DN", "X-Client-CN", "Client-Cert"),
            *("Client-Cert-Chain", "X-Forwarded-Client-Cert", "X-Forwarded-Client-Cert-Chain"),
            *("X-Forwarded-Tls-Client-Cert", "X-Forwarded-Tls-Client-Cert-Info"),
        ),
        (
            *("ssl-client-", "x-ssl-client-", "client-cert-", "x-client-cert-"),
            *("x-forwarded-client-", "x-forwarded-tls-"),
        ),
    ),
)
"""For these, the configurations of proxies that know patterns have lines of their own."""
OTHER_FAMILIES: Final = (
    HeaderFamily(
        "client certificates of load balancers",
        (
            *("ssl-cert-chain", "X-ARR-ClientCert", "X-Amzn-Mtls-Clientcert"),
            *("X-Amzn-Mtls-Clientcert-Leaf", "X-Amzn-Mtls-Clientcert-Serial-Number"),
            *("X-Amzn-Mtls-Clientcert-Issuer", "X-Amzn-Mtls-Clientcert-Subject"),
            "X-Amzn-Mtls-Clientcert-Validity",
        ),
        ("x-amzn-mtls-",),
    ),
    HeaderFamily(
        "oauth2-proxy",
        (
            *("X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups"),
            *("X-Forwarded-Preferred-Username", "X-Forwarded-Access-Token", "X-Forwarded-Name"),
            *("X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-Request-Groups"),
            *("X-Auth-Request-Preferred-Username", "X-Auth-Request-Access-Token"),
            *("X-Auth-Request-Redirect", "GAP-Auth"),
        ),
        (
            *("x-auth-request-", "x-forwarded-user", "x-forwarded-email", "x-forwarded-mail"),
            *("x-forwarded-group", "x-forwarded-role", "x-forwarded-preferred-"),
            *("x-forwarded-access-", "x-forwarded-id-", "x-forwarded-auth-", "x-forwarded-login"),
            *("x-forwarded-authenticated", "x-forwarded-authorization", "x-forwarded-full"),
            *("x-forwarded-account", "x-forwarded-claim"),
            *("x-forwarded-identity", "x-forwarded-principal", "x-forwarded-subject"),
        ),
    ),
    HeaderFamily(
        "remote user of many services, Kubernetes",
        (
            *("X-Remote-User", "X-Remote-Group", "X-Remote-Groups", "X-Remote-Email"),
            *("X-Remote-Name", "X-Remote-Role", "X-Remote-Roles", "X-Remote-Uid"),
            *("X-Remote-Addr", "X-Remote-IP", "X-Remote-Host"),
        ),
        ("x-remote-",),
    ),
    HeaderFamily(
        "Grafana, Gitea",
        (
            *("X-WEBAUTH-USER", "X-WEBAUTH-NAME", "X-WEBAUTH-LOGIN", "X-WEBAUTH-EMAIL"),
            *("X-WEBAUTH-FULLNAME", "X-WEBAUTH-GROUPS", "X-WEBAUTH-ROLE", "X-WEBAUTH-ORGS"),
        ),
        ("x-webauth-",),
    ),
    HeaderFamily(
        "authentik",
        (
            *("X-authentik-username", "X-authentik-groups", "X-authentik-entitlements"),
            *("X-authentik-email", "X-authentik-name", "X-authentik-uid", "X-authentik-jwt"),
            *("X-authentik-meta-jwks", "X-authentik-meta-outpost", "X-authentik-meta-provider"),
            *("X-authentik-meta-app", "X-authentik-meta-version"),
        ),
        ("x-authentik-",),
    ),
    HeaderFamily(
        "Pomerium",
        (
            *("X-Pomerium-Jwt-Assertion", "X-Pomerium-Jwt-Assertion-For"),
            *("X-Pomerium-Claim-Email", "X-Pomerium-Claim-Groups", "X-Pomerium-Claim-Name"),
            *("X-Pomerium-Claim-Sub", "X-Pomerium-Claim-User"),
        ),
        ("x-pomerium-",),
    ),
    HeaderFamily(
        "Cloudflare Access",
        (
            *("Cf-Access-Jwt-Assertion", "Cf-Access-Authenticated-User-Email"),
            *("Cf-Access-Client-Id", "Cf-Access-Client-Secret", "Cf-Access-Token"),
        ),
        ("cf-access-",),
    ),
    HeaderFamily(
        "Google",
        (
            *("X-Goog-Authenticated-User-Email", "X-Goog-Authenticated-User-Id"),
            *("X-Goog-IAP-JWT-Assertion", "X-Goog-IAP-Generated-Response"),
            *("X-Endpoint-API-UserInfo", "X-Apigateway-Api-Userinfo"),
            "X-Serverless-Authorization",
        ),
        ("x-goog-authenticated-", "x-goog-iap-"),
    ),
    HeaderFamily(
        "Microsoft Azure",
        (
            *("X-MS-CLIENT-PRINCIPAL", "X-MS-CLIENT-PRINCIPAL-ID", "X-MS-CLIENT-PRINCIPAL-NAME"),
            *("X-MS-CLIENT-PRINCIPAL-IDP", "X-MS-TOKEN-AAD-ID-TOKEN"),
            *("X-MS-TOKEN-AAD-ACCESS-TOKEN", "X-MS-TOKEN-AAD-REFRESH-TOKEN"),
            "X-MS-TOKEN-AAD-EXPIRES-ON",
        ),
        ("x-ms-client-principal", "x-ms-token-"),
    ),
    HeaderFamily(
        "Amazon load balancer",
        ("X-Amzn-Oidc-Data", "X-Amzn-Oidc-Identity", "X-Amzn-Oidc-Accesstoken"),
        ("x-amzn-oidc-",),
    ),
    HeaderFamily(
        "Tailscale",
        (
            *("Tailscale-User-Login", "Tailscale-User-Name", "Tailscale-User-Profile-Pic"),
            *("Tailscale-Headers-Info", "Tailscale-App-Capabilities"),
        ),
        ("tailscale-",),
    ),
    HeaderFamily(
        "Vouch",
        (
            *("X-Vouch-User", "X-Vouch-Success", "X-Vouch-Token", "X-Vouch-IdP-IdToken"),
            *("X-Vouch-IdP-AccessToken", "X-Vouch-IdP-Claims-Groups"),
            *("X-Vouch-IdP-Claims-Email", "X-Vouch-IdP-Claims-Name"),
        ),
        ("x-vouch-",),
    ),
    HeaderFamily(
        "caddy-security",
        (
            *("X-Token-Subject", "X-Token-User-Name", "X-Token-User-Email", "X-Token-User-Roles"),
            "X-Token-Jwt",
        ),
        ("x-token-subject", "x-token-user-"),
    ),
    HeaderFamily(
        "Kong, Apigee and other API gateways",
        (
            *("X-Authenticated-User", "X-Authenticated-Userid", "X-Authenticated-Groups"),
            *("X-Authenticated-Email", "X-Authenticated-Scope", "X-Authenticated-Client"),
            *("X-Consumer-ID", "X-Consumer-Username", "X-Consumer-Custom-ID", "X-Consumer-Groups"),
            *("X-Credential-Identifier", "X-Credential-Username", "X-Anonymous-Consumer"),
            *("X-Userinfo", "X-ID-Token"),
        ),
        ("x-authenticated-", "x-consumer-", "x-credential-"),
    ),
    HeaderFamily(
        "mod_auth_openidc",
        (
            *("OIDC-Claim-Sub", "OIDC-Claim-Email", "OIDC-Claim-Name", "OIDC-Claim-Groups"),
            *("OIDC-Claim-Preferred-Username", "OIDC-Access-Token", "OIDC-Id-Token"),
            *("OIDC-Id-Token-Payload", "OIDC-Userinfo-Json", "OIDC-Refresh-Token"),
        ),
        ("oidc-",),
    ),
    HeaderFamily(
        "Nexus, OpenSearch, Elasticsearch, Ory Oathkeeper and others",
        (
            *("X-SSO-User", "X-SSO-Email", "X-SSO-Groups", "X-Proxy-User", "X-Proxy-Roles"),
            *("X-Proxy-Groups", "X-Auth-User", "X-Auth-Username", "X-Auth-Email", "X-Auth-Groups"),
            *("X-Auth-Name", "X-Auth-Roles", "X-Auth-Subject", "X-User", "X-Username"),
            *("X-User-Name", "X-User-Email", "X-User-Groups", "X-User-Roles"),
            *("Es-Security-Runas-User", "X-Trusted-User", "X-Auth-Remote-User"),
        ),
        ("x-sso-", "x-proxy-user", "x-proxy-role"),
    ),
    HeaderFamily(
        "SiteMinder, IBM and Oracle access managers",
        (
            *("SM-User", "SMUser", "SM-Universalid", "SM-Groups", "SM-UserDN", "iv-user"),
            *("iv-user-l", "iv-groups", "iv-creds", "OAM-Remote-User", "OAM-Remote-User-Groups"),
        ),
        ("sm-user", "iv-user", "oam-remote-"),
    ),
)
FAMILIES: Final = (*OWN_FAMILIES, *OTHER_FAMILIES)
REMOVED: Final = tuple(name for family in FAMILIES for name in family.names)
"""Every name that each proxy removes."""
_LISTED: Final = frozenset(name.lower() for name in (*REMOVED, *SET_BY_PROXY))
_BEGINNINGS: Final = tuple(text for family in FAMILIES for text in family.beginnings)
_SEPARATOR: Final = re.compile("[^a-z0-9]")
_LONGEST_CACHED: Final = 64
"""Bytes of a name: the cache has few long names, which callers make up."""


def is_unremovable(name: bytes) -> bool:
    """Tell whether a header belongs to a family, in a form that not every proxy removes.

    Names are compared in lower case, with `-` for every character but letters and digits: programs
    read `X_Forwarded_User` and `X-Forwarded-User` as the same.
    """
    if len(name) > _LONGEST_CACHED:
        return _find_unremovable(name)
    return _cached(name)


def _find_unremovable(name: bytes) -> bool:
    text = name.decode("latin-1").lower()
    if text in _LISTED:
        return False
    shape = _SEPARATOR.sub("-", text)
    return shape in _LISTED or shape.startswith(_BEGINNINGS)


# Called for every header of every request: a cache in C costs a fifth of one in Python.
_cached: Final = lru_cache(maxsize=2048)(_find_unremovable)

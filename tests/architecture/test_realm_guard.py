"""Every route of the application checks its realm, and says so where it does not."""

from gateway.http.realm_endpoint import GuardedEndpoint, RealmCheck
from tests.support.application_routes import served

WITHOUT_REALM = {
    "/",
    "/admin",
    "/admin/realms",
    "/admin/serverinfo",
    "/resources/{version}/{path:path}",
    "/.realmgate/resources/{version}/{path:path}",
    "/.realmgate/sign-in",
    "/.realmgate/callback",
    "/.realmgate/sign-out",
    "/.realmgate/refused",
    "/.realmgate/certificate/{format}/{status}",
}
"""Paths of no realm: the admin endpoints check the caller's realm; static files have none.

Those of protected sites check the realm that the site of the host names. The page of a refused
certificate is for the proxy alone and gives no access. `/` leads to the console of a realm, which
checks it.
"""
PUBLIC_OF_A_DISABLED_REALM = {
    "/realms/{realm}",
    "/realms/{realm}/.well-known/openid-configuration",
    "/realms/{realm}/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/realms/{realm}",
    "/realms/{realm}/protocol/openid-connect/certs",
}

OTHERS_OF_A_DISABLED_REALM = {
    "/realms/{realm}/protocol/openid-connect/logout",
    "/realms/{realm}/protocol/openid-connect/logout/logout-confirm",
    "/realms/{realm}/protocol/openid-connect/userinfo",
}
"""Userinfo rejects every token of a disabled realm itself; logout gives no access."""


def test_every_route_is_a_guarded_endpoint() -> None:
    outside = [one.path for one in served() if not isinstance(one.endpoint, GuardedEndpoint)]
    assert outside == []
    assert [one.path for one in served() if one.guarded.route != one.path] == []


def test_the_routes_are_all_there() -> None:
    paths = {one.path for one in served()}
    assert paths > WITHOUT_REALM
    assert paths > PUBLIC_OF_A_DISABLED_REALM
    assert any("clients-registrations" in path for path in paths)
    assert len(paths) > 200


def test_a_route_without_a_realm_is_listed_here() -> None:
    assert {one.path for one in served() if not one.is_of_a_realm} == WITHOUT_REALM


def test_no_endpoint_replaces_the_check() -> None:
    for kind in {type(one.endpoint) for one in served()}:
        for name in ("__call__", "_checked", "_find_realm", "_require"):
            assert getattr(kind, name) is getattr(GuardedEndpoint, name), (kind, name)


def test_exemptions_are_few_and_have_a_reason() -> None:
    for one in served():
        checks = {exemption.check for exemption in one.guarded.exempt}
        exempt = PUBLIC_OF_A_DISABLED_REALM | OTHERS_OF_A_DISABLED_REALM
        is_exempt = one.path.startswith("/admin/") or one.path in exempt
        assert checks == ({RealmCheck.ENABLED} if is_exempt else set()), one.path
        assert all(len(exemption.reason) > 40 for exemption in one.guarded.exempt)

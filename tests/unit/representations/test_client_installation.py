"""Files for adapters, as Keycloak 26.7 writes them."""

from typing import Any

import pytest

from gateway.domain.clients.client import Client
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.clients.installation import INSTALLATIONS, Installation

KINDS = {kind.id: kind for kind in INSTALLATIONS}
KEY_STORE = """\
    "jwt" : {
      "client-key-password" : "REPLACE WITH THE KEY PASSWORD IN KEYSTORE",
      "client-keystore-file" : "REPLACE WITH THE LOCATION OF YOUR KEYSTORE FILE",
      "client-keystore-password" : "REPLACE WITH THE KEYSTORE PASSWORD",
      "client-key-alias" : "app",
      "token-timeout" : 10,
      "client-keystore-type" : "jks"
    }"""


def written(kind: str, *, roles: bool = False, masked: bool = False, **fields: Any) -> str:
    client = Client(**{"id": "i", "realm_id": "r", "client_id": "app"} | fields)
    realm = Realm(id="r", name="acme")
    found = Installation(realm, client, "https://gw.test", has_roles=roles, masked=masked)
    return KINDS[kind].write(found)


def json_of(middle: str) -> str:
    return (
        '{\n  "realm" : "acme",\n  "auth-server-url" : "https://gw.test/",\n'
        '  "ssl-required" : "external",\n  "resource" : "app",\n'
        f'{middle}  "confidential-port" : 0\n}}'
    )


def test_keycloak_json_tells_the_secret() -> None:
    text = written("keycloak-oidc-keycloak-json", secret=Secret("s3cret"))
    assert text == json_of('  "credentials" : {\n    "secret" : "s3cret"\n  },\n')


def test_keycloak_json_masks_what_is_not_to_be_told() -> None:
    text = written("keycloak-oidc-keycloak-json", secret=Secret("s3cret"), masked=True)
    assert text == json_of('  "credentials" : {\n    "secret" : "**********"\n  },\n')


@pytest.mark.parametrize(
    ("fields", "middle"),
    [
        ({"public_client": True}, '  "public-client" : true,\n'),
        ({"client_authenticator_type": "client-x509"}, '  "credentials" : { },\n'),
        (
            {"client_authenticator_type": "client-secret-jwt", "secret": Secret("s")},
            '  "credentials" : {\n    "secret-jwt" : {\n      "secret" : "s"\n    }\n  },\n',
        ),
        (
            {"client_authenticator_type": "client-jwt"},
            f'  "credentials" : {{\n{KEY_STORE}\n  }},\n',
        ),
    ],
)
def test_keycloak_json_tells_how_the_client_proves_itself(
    fields: dict[str, Any], middle: str
) -> None:
    assert written("keycloak-oidc-keycloak-json", **fields) == json_of(middle)


def test_keycloak_json_of_a_client_that_takes_tokens_alone() -> None:
    text = written("keycloak-oidc-keycloak-json", bearer_only=True, roles=True)
    assert text == (
        '{\n  "realm" : "acme",\n  "bearer-only" : true,\n'
        '  "auth-server-url" : "https://gw.test/",\n  "ssl-required" : "external",\n'
        '  "resource" : "app",\n  "verify-token-audience" : true,\n'
        '  "use-resource-role-mappings" : true,\n  "confidential-port" : 0\n}'
    )


def test_the_subsystem_in_xml() -> None:
    text = written(
        "keycloak-oidc-jboss-subsystem", client_id="a<b&c", secret=Secret("x<y"), roles=True
    )
    assert text == (
        '<secure-deployment name="WAR MODULE NAME.war">\n'
        "    <realm>acme</realm>\n"
        "    <auth-server-url>https://gw.test/</auth-server-url>\n"
        "    <ssl-required>EXTERNAL</ssl-required>\n"
        "    <resource>a&lt;b&amp;c</resource>\n"
        "    <verify-token-audience>true</verify-token-audience>\n"
        '    <credential name="secret">x&lt;y</credential>\n'
        "    <use-resource-role-mappings>true</use-resource-role-mappings>\n"
        "</secure-deployment>\n"
    )


def test_the_subsystem_in_xml_with_a_secret_for_jwts() -> None:
    text = written(
        "keycloak-oidc-jboss-subsystem",
        client_authenticator_type="client-secret-jwt",
        secret=Secret("s"),
    )
    assert text == (
        '<secure-deployment name="WAR MODULE NAME.war">\n'
        "    <realm>acme</realm>\n"
        "    <auth-server-url>https://gw.test/</auth-server-url>\n"
        "    <ssl-required>EXTERNAL</ssl-required>\n"
        "    <resource>app</resource>\n"
        '    <credential name="secret-jwt">\n'
        "        <secret>s</secret>\n"
        "    </credential>\n"
        "</secure-deployment>\n"
    )


def test_the_subsystem_as_commands() -> None:
    text = written(
        "keycloak-oidc-jboss-subsystem-cli", client_id='a"b', secret=Secret("s"), roles=True
    )
    assert text == (
        '/subsystem=keycloak/secure-deployment="WAR MODULE NAME.war"/:add( \\\n'
        '    realm="acme", \\\n'
        '    resource="a\\"b", \\\n'
        "    auth-server-url=https://gw.test/, \\\n"
        "    verify-token-audience=true, \\\n"
        "    use-resource-role-mappings=true, \\\n"
        "    ssl-required=EXTERNAL)\n"
        "\n"
        '/subsystem=keycloak/secure-deployment="WAR MODULE NAME.war"'
        "/credential=secret:add(value=s)\n"
    )


def test_the_subsystem_as_commands_with_a_secret_for_jwts() -> None:
    text = written(
        "keycloak-oidc-jboss-subsystem-cli",
        client_authenticator_type="client-secret-jwt",
        secret=Secret("s"),
    )
    assert text.endswith("/credential=secret-jwt:add(value={secret=s})\n")

"""The two spellings of a name. Keycloak: the rule of Ansible's modules."""

import pytest

from gateway.representations.field_table import camel_case, snake_case
from gateway.representations.realms.fields import REALM_FIELDS
from tests.support.realms import SPECIFICATION_SETTINGS


@pytest.mark.parametrize(
    ("snake", "camel"),
    [
        ("quick_login_check_milli_seconds", "quickLoginCheckMilliSeconds"),
        ("sso_session_max_lifespan_remember_me", "ssoSessionMaxLifespanRememberMe"),
        ("oauth2_device_code_lifespan", "oauth2DeviceCodeLifespan"),
        ("web_authn_policy_rp_id", "webAuthnPolicyRpId"),
        ("realm", "realm"),
    ],
)
def test_the_rule_goes_both_ways(snake: str, camel: str) -> None:
    assert camel_case(snake) == camel
    assert snake_case(camel) == snake


def test_every_setting_has_one_name_in_each_spelling() -> None:
    names = [entry.name for entry in REALM_FIELDS]
    assert len(set(names)) == len(names)
    assert [camel_case(snake_case(name)) for name in names] == names


def test_every_setting_of_the_specification_stands_in_the_table() -> None:
    names = {entry.name for entry in REALM_FIELDS}
    assert {camel_case(name) for name in SPECIFICATION_SETTINGS} <= names

"""Who is locked out, as administrators see it, and letting them in again. Keycloak: 4.3."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.domain.realm import FAILURES_PER_ADDRESS
from tests.support.administered_realm import administered_realm
from tests.support.administration import ADMIN_PASSWORD, PASSWORD, Administration, master
from tests.support.gateway_process import start_gateway
from tests.support.redis_server import RedisServer

NOTHING = {
    "failedLoginNotBefore": 0,
    "numFailures": 0,
    "numTemporaryLockouts": 0,
    "disabled": False,
    "numSecondaryAuthFailures": 0,
    "lastIPFailure": "n/a",
    "lastFailure": 0,
}
FOR_EVER = 2**63 - 1
USERS = "attack-detection/brute-force/users"


def status(administration: Administration, user_id: str, realm: str = "guarded") -> dict[str, Any]:
    response = administration.ask("GET", f"{realm}/{USERS}/{user_id}")
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def listed(administration: Administration, realm: str = "guarded") -> dict[str, dict[str, Any]]:
    found = administration.ask("GET", f"{realm}/{USERS}").json()
    return {item["username"]: item for item in found}


@pytest.fixture(autouse=True)
def _nobody_locked_out(administration: Administration) -> None:
    for realm in ("guarded", "strict", "master"):
        assert administration.ask("DELETE", f"{realm}/{USERS}").status_code == 204


@pytest.mark.parametrize("user_id", ["guarded-mallory", "nobody", "strict-mallory", "x" * 300])
def test_who_never_failed_has_a_record_of_nothing(
    administration: Administration, user_id: str
) -> None:
    assert status(administration, user_id) == NOTHING


def test_a_failure_is_told_with_its_time_and_address(administration: Administration) -> None:
    before = int(time.time() * 1000) - 1
    administration.sign_in("mallory", "wrong")
    found = status(administration, "guarded-mallory")
    assert before <= found.pop("lastFailure") <= time.time() * 1000 + 1
    assert (found["numFailures"], found["lastIPFailure"]) == (1, "203.0.113.9")
    assert (found["disabled"], found["failedLoginNotBefore"]) == (False, 0)
    assert listed(administration) == {}


def test_a_lock_out_is_told_with_the_time_left(administration: Administration) -> None:
    administration.lock_out("mallory")
    found = status(administration, "guarded-mallory")
    assert found["disabled"] is True
    assert time.time() + 50 < found["failedLoginNotBefore"] <= time.time() + 61
    administration.lock_out("trudy")
    everybody = listed(administration)
    assert list(everybody) == ["mallory", "trudy"]
    mallory = everybody["mallory"]
    assert 50 < mallory.pop("secondsLeft") <= 60
    assert mallory == found | {
        "userId": "guarded-mallory",
        "username": "mallory",
        "permanent": False,
    }


def test_forgetting_one_users_failures_lets_this_one_in(administration: Administration) -> None:
    administration.lock_out("mallory")
    administration.lock_out("trudy")
    for _ in range(2):
        gone = administration.ask("DELETE", f"guarded/{USERS}/guarded-mallory")
        assert (gone.status_code, gone.content) == (204, b"")
    assert status(administration, "guarded-mallory") == NOTHING
    assert administration.sign_in("mallory") == 200
    assert administration.sign_in("trudy") != 200


def test_forgetting_all_failures_lets_everybody_of_the_realm_in(
    administration: Administration,
) -> None:
    administration.lock_out("mallory")
    administration.lock_out("admin", "master")
    assert administration.ask("DELETE", f"guarded/{USERS}").status_code == 204
    assert listed(administration) == {}
    assert administration.sign_in("mallory") == 200
    assert list(listed(administration, "master")) == ["admin"]


def test_a_permanent_lock_out_ends_by_the_unlock_command_alone(
    administration: Administration,
) -> None:
    administration.lock_out("mallory", "strict")
    assert administration.ask("DELETE", f"strict/{USERS}").status_code == 204
    found = status(administration, "strict-mallory", "strict")
    assert (found["disabled"], found["failedLoginNotBefore"]) == (True, FOR_EVER)
    (told,) = listed(administration, "strict").values()
    assert (told["username"], told["permanent"], told["secondsLeft"]) == ("mallory", True, None)
    assert administration.sign_in("mallory", realm="strict") != 200
    shown = administration.command("user", "list", "--realm", "strict", "--locked")
    assert shown.stdout == "strict-mallory  mallory  until it is unlocked\n"
    done = administration.command("user", "unlock", "--realm", "strict", "mallory")
    assert (done.exit_code, done.stdout) == (0, "user mallory: unlocked\n")
    assert listed(administration, "strict") == {}
    assert administration.sign_in("mallory", realm="strict") == 200
    (user,) = administration.ask("GET", "strict/users?username=mallory").json()
    assert "attributes" not in user
    again = administration.command("user", "unlock", "--realm", "strict", "mallory")
    assert (again.exit_code, again.stdout) == (0, "user mallory: was not locked out\n")


def test_no_lock_out_is_permanent_unless_the_realm_asks_for_it(
    administration: Administration,
) -> None:
    """attacks: D5. Otherwise a stranger could keep a user out for good."""
    created = {"realm": "unasked", "enabled": True, "bruteForceProtected": True}
    guarded = {"failureFactor": 2, "passwordPolicy": "hashIterations(1)"}
    assert administration.ask("POST", "", document=created | guarded).status_code == 201
    user = {"username": "victim", "enabled": True}
    assert administration.ask("POST", "unasked/users", document=user).status_code == 201
    (victim,) = administration.ask("GET", "unasked/users?username=victim").json()
    for _ in range(3):
        administration.sign_in("victim", "wrong", "unasked")
    found = status(administration, victim["id"], "unasked")
    (after,) = administration.ask("GET", "unasked/users?username=victim").json()
    administration.ask("DELETE", "unasked")
    assert found["disabled"] is True
    assert found["failedLoginNotBefore"] < FOR_EVER
    assert after["enabled"] is True


def test_enabling_ends_a_permanent_lock_out_too(administration: Administration) -> None:
    administration.lock_out("trudy", "strict")
    assert administration.command("user", "enable", "--realm", "strict", "trudy").exit_code == 0
    assert administration.sign_in("trudy", realm="strict") == 200
    assert status(administration, "strict-trudy", "strict") == NOTHING


def test_unlocking_does_not_enable_a_user_disabled_by_an_admin(
    administration: Administration,
) -> None:
    administration.command("user", "disable", "--realm", "strict", "peggy")
    done = administration.command("user", "unlock", "--realm", "strict", "peggy")
    assert done.stdout == "user peggy: was not locked out\n"
    assert administration.sign_in("peggy", realm="strict") != 200
    assert listed(administration, "strict") == {}
    administration.command("user", "enable", "--realm", "strict", "peggy")
    assert administration.sign_in("peggy", realm="strict") == 200


def test_a_shell_on_the_host_suffices_with_every_account_locked(
    administration: Administration,
) -> None:
    """attacks: D5."""
    administration.lock_out("admin", "master")
    assert administration.sign_in("admin", ADMIN_PASSWORD, "master") != 200
    shown = administration.command(
        "user", "list", "--realm", "master", "--locked", "--output", "json"
    )
    (told,) = json.loads(shown.stdout)
    assert told["username"] == "admin"
    done = administration.command("user", "unlock", "--realm", "master", "admin")
    assert done.exit_code == 0, done.output
    assert administration.sign_in("admin", ADMIN_PASSWORD, "master") == 200


def test_the_address_limit_is_set_by_command_and_by_realm_file(
    administration: Administration, tmp_path: Path
) -> None:
    """What the admin API refuses is refused by the commands, and reported of a file."""

    def attributes(limit: str) -> dict[str, Any]:
        return {"attributes": {FAILURES_PER_ADDRESS: limit}}

    name, file = "limited-addresses", tmp_path / "realm.json"
    settings = {"realm": name, "enabled": True, "bruteForceProtected": True, "failureFactor": 5}
    try:
        file.write_text(json.dumps(settings | attributes("4")))
        done = administration.command("realm", "import", str(file))
        assert done.exit_code == 0, done.output
        assert "failuresPerAddress" not in done.output
        shown = json.loads(administration.command("realm", "show", name).stdout)
        assert shown["attributes"][FAILURES_PER_ADDRESS] == "4"
        for limit, refused in (("2", False), ("5", True)):
            sent = f"attributes={json.dumps(attributes(limit)['attributes'])}"
            done = administration.command("realm", "update", name, "--set", sent)
            assert (done.exit_code != 0) is refused, done.output
        assert "one address would lock the user out for every address before" in done.output
        file.write_text(json.dumps(settings | {"realm": "reported"} | attributes("5")))
        done = administration.command("realm", "import", str(file))
        assert FAILURES_PER_ADDRESS in done.output
    finally:
        for made in (name, "reported"):
            administration.ask("DELETE", made)


def test_a_password_reset_from_the_shell_is_the_one_that_counts(
    administration: Administration,
) -> None:
    done = administration.command(
        "user", "set-password", "--realm", "guarded", "peggy", text="another word\nanother word\n"
    )
    assert done.exit_code == 0, done.output
    assert "another word" not in done.output
    assert administration.sign_in("peggy", PASSWORD) != 200
    assert administration.sign_in("peggy", "another word") == 200


def test_a_name_that_no_user_has_is_counted_as_a_user_is(
    tmp_path: Path, own_redis: RedisServer
) -> None:
    """Otherwise attempts at it wait in another order, and the time tells which names exist.

    Look-alikes count together, as those of a user do, and no name is listed as locked.
    """
    (tmp_path / "realms.json").write_text(json.dumps([master()]))
    with (
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realms.json",
            redis_url=own_redis.url.reveal(),
            workers=1,
        ) as gateway,
        gateway.client() as http,
    ):
        administration = Administration(gateway, http)
        realm = {"bruteForceProtected": True, "failureFactor": 2}
        with administered_realm(administration, "counting", {}, **realm):
            for name in ("nobody", "\N{FULLWIDTH LATIN SMALL LETTER N}obody", "NOBODY"):
                assert administration.sign_in(name, "wrong", "counting") == 400
            with own_redis.client() as redis:
                (key,) = redis.keys("rg:failures:*")
                failures = int(redis.hget(key, "failures"))
            assert failures == 2, "the third was not admitted"
            assert listed(administration, "counting") == {}

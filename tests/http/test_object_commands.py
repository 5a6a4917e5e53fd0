"""Objects of the admin API from a shell, by name, beside a running gateway."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.cli.admin_objects import CREATE, LIST, OBJECTS, AdminObject
from tests.support.administration import Administration
from tests.support.forked_gateway import run_command
from tests.support.made_realms import OK

REALM = "objects"
DONE, FAILED, BAD = 0, 1, 2


@dataclass(frozen=True)
class Sample:
    """An object to create: its owners, its name, what is set at first, and what is changed then."""

    owners: tuple[str, ...] = ()
    name: str = "sample"
    set: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    changed: tuple[str, Any] = ("", None)


_MAPPER = ("--set", "protocolMapper=oidc-usermodel-attribute-mapper", "--config", "claim.name=a")


def _mapper_of(owner: str) -> Sample:
    return Sample(
        (owner,),
        set=(*_MAPPER, "--config", "user.attribute=one"),
        change=("--config", "user.attribute=two"),
        changed=("config", {"claim.name": "a", "user.attribute": "two"}),
    )


SAMPLES: Mapping[str, Sample] = {
    "client-scope": Sample(
        set=("--set", "description=before", "--attribute", "gui.order=1"),
        change=("--set", "description=after", "--attribute", "consent.screen.text=x"),
        changed=("attributes", {"gui.order": "1", "consent.screen.text": "x"}),
    ),
    "client-scope mapper": _mapper_of("profile"),
    "client mapper": _mapper_of("account"),
    "component": Sample(
        set=(
            *("--set", "providerId=hmac-generated"),
            *("--set", "providerType=org.keycloak.keys.KeyProvider"),
            *("--config", "priority=1", "--config", "algorithm=HS256"),
        ),
        change=("--config", "priority=2"),
        changed=("config", {"priority": ["2"], "algorithm": ["HS256"]}),
    ),
    "flow": Sample(
        set=("--set", "description=before"),
        change=("--set", "description=after"),
        changed=("description", "after"),
    ),
    "client-policy": Sample(
        set=("--set", 'conditions=[{"condition":"any-client","configuration":{}}]'),
        change=("--set", "enabled=true"),
        changed=("enabled", True),
    ),
    "client-profile": Sample(
        set=("--set", "description=before"),
        change=("--set", "description=after"),
        changed=("description", "after"),
    ),
    "user-profile attribute": Sample(
        set=("--set", 'permissions={"view":["admin"],"edit":["admin"]}'),
        change=("--set", "displayName=Sample"),
        changed=("displayName", "Sample"),
    ),
    "user-profile group": Sample(
        set=("--set", "displayHeader=before"),
        change=("--set", "displayHeader=after"),
        changed=("displayHeader", "after"),
    ),
}
_APART = {"initial-access", "identity-provider"}
"""Those have tests of their own: a token that is shown once, and a feature that is missing."""


@pytest.fixture(scope="module")
def shell(administration: Administration) -> Iterator["Shell"]:
    shell = Shell(administration)
    shell.run("realm", "create", REALM, "--enabled", "--set", "defaultSignatureAlgorithm=ES256")
    yield shell
    administration.ask("DELETE", REALM)


@dataclass(frozen=True)
class Shell:
    """Commands on the realm of these tests."""

    administration: Administration

    def run(self, *words: str, code: int = DONE) -> str:
        done = self.administration.command(*words)
        assert done.exit_code == code, done.output
        return done.output

    def on(self, command: str, verb: str, *words: str, code: int = DONE) -> str:
        return self.run(*command.split(), verb, *words, "--realm", REALM, code=code)

    def get(self, path: str) -> Any:
        response = self.administration.ask("GET", f"{REALM}/{path}")
        assert response.status_code == OK, response.text
        return response.json()


CREATED = tuple(one for one in OBJECTS if CREATE in one.verbs and one.command not in _APART)


def test_every_object_that_is_created_has_a_sample() -> None:
    assert {one.command for one in CREATED} == SAMPLES.keys()


@pytest.mark.parametrize("one", CREATED, ids=lambda one: one.command)
def test_an_object_is_created_shown_changed_and_deleted(shell: Shell, one: AdminObject) -> None:
    sample = SAMPLES[one.command]
    named = (*sample.owners, sample.name)
    made = shell.on(one.command, "create", *named, *sample.set)
    assert made.startswith(f"{one.word} {sample.name}: created")
    listed = json.loads(shell.on(one.command, "list", *sample.owners, "--output", "json"))
    key = one.key.names[0] if one.key else "name"
    assert sample.name in [item[key] for item in listed]
    assert sample.name in shell.on(one.command, "list", *sample.owners)
    said = shell.on(one.command, "update", *named, *sample.change)
    assert said == f"{one.word} {sample.name}: updated\n"
    after = json.loads(shell.on(one.command, "show", *named))
    member, value = sample.changed
    if isinstance(value, dict):
        assert value.items() <= after[member].items()
    else:
        assert after[member] == value
    near = f"{sample.name}x"
    said = shell.on(one.command, "show", *sample.owners, near, code=FAILED)
    assert f"there is no {one.key.what if one.key and not one.items else one.word}" in said
    assert f"did you mean {sample.name}?" in said
    assert "Aborted!" in shell.on(one.command, "delete", *named, code=FAILED)
    assert (
        shell.on(one.command, "delete", *named, "--yes") == f"{one.word} {sample.name}: removed\n"
    )
    left = json.loads(shell.on(one.command, "list", *sample.owners, "--output", "json"))
    assert sample.name not in [item[key] for item in left]


@pytest.mark.parametrize("one", [one for one in OBJECTS if LIST in one.verbs and not one.owners])
def test_a_list_is_the_list_of_the_admin_api(shell: Shell, one: AdminObject) -> None:
    found = shell.get(one.url)
    listed = json.loads(shell.on(one.command, "list", "--output", "json"))
    assert listed == (found[one.items] if one.items else found)


def test_a_change_is_recorded_and_judged_as_any_other(shell: Shell) -> None:
    shell.on("event config", "update", "--set", "adminEventsEnabled=true")
    shell.on("client-scope", "create", "recorded")
    refused = shell.on("client-scope", "create", "recorded", code=FAILED)
    assert "already exists" in refused
    shell.on("client-scope", "delete", "recorded", "--yes")
    found = json.loads(shell.on("event", "list", "--admin", "--output", "json"))
    changes = [item["operationType"] for item in found if item["resourceType"] == "CLIENT_SCOPE"]
    assert changes == ["DELETE", "CREATE"]
    wrong = shell.on("client-scope", "update", "profile", "--set", "nmae=x", code=BAD)
    assert "did you mean name?" in wrong


def test_relations_are_changed_by_name(shell: Shell) -> None:
    shell.on("client-scope", "create", "extra")
    said = shell.on("client-scope optional", "add", "extra", "phone")
    assert said == "extra: added\nphone: was there before\n"
    assert "extra" in shell.on("client-scope optional", "list").split()
    shell.on("client-scope optional", "remove", "extra")
    said = shell.on("client-scope optional", "remove", "extra", code=FAILED)
    assert said == "Error: 'extra' is not among the optional client scopes of new clients\n"
    for relation, owner in (
        ("client-scope scope-mapping", "profile"),
        ("client scope-mapping", "broker"),
        ("group role", "/sample"),
        ("role composite", "sample"),
    ):
        if owner in {"/sample", "sample"}:
            shell.on(relation.split()[0], "create", owner)
        shell.on(relation, "add", owner, "offline_access", "account/view-profile")
        listed = shell.on(relation, "list", owner).split()
        assert listed == ["offline_access", "account/view-profile"], relation
        said = shell.on(relation, "add", owner, "account/view-profil", code=FAILED)
        assert "did you mean account/view-profile?" in said
        shell.on(relation, "remove", owner, "account/view-profile")
        assert shell.on(relation, "list", owner).split() == ["offline_access"]
    shell.on("group default", "add", "/sample")
    assert shell.on("group default", "list") == "/sample\n"
    shell.on("group default", "remove", "/sample")
    assert shell.on("role", "groups", "offline_access").startswith("/sample")


def test_a_flow_is_built_from_executions(shell: Shell) -> None:
    shell.on("flow", "copy", "browser", "built")
    shell.on("flow execution", "add", "built", "allow-access-authenticator")
    named = ("built", "allow-access-authenticator")
    shell.on("flow execution", "update", *named, "--set", "requirement=ALTERNATIVE")
    assert json.loads(shell.on("flow execution", "show", *named))["requirement"] == "ALTERNATIVE"

    def order() -> list[str]:
        found = json.loads(shell.on("flow execution", "list", "built", "--output", "json"))
        return [item.get("providerId", "") for item in found if item["level"] == 0]

    assert order()[-1] == named[1]
    shell.on("flow execution", "raise", *named)
    assert order()[-2] == named[1]
    ambiguous = ("built", "conditional-user-configured")
    assert "give one by its id" in shell.on("flow execution", "show", *ambiguous, code=BAD)
    shell.on("flow execution", "delete", *named, "--yes")
    assert named[1] not in order()
    shell.on("flow execution", "add", "built", "conditional-user-role")
    config = ("built", "conditional-user-role")
    shell.on("flow config", "create", *config, "staff", "--set", 'config={"condUserRole":"a"}')
    shell.on("flow config", "update", *config, "--config", "negate=true")
    assert json.loads(shell.on("flow config", "show", *config))["config"] == {
        "condUserRole": "a",
        "negate": "true",
    }
    shell.on("flow config", "delete", *config, "--yes")
    assert "there is no" in shell.on("flow config", "show", *config, code=FAILED)
    shell.on("flow", "delete", "built", "--yes")


def test_an_initial_access_token_is_shown_once(shell: Shell) -> None:
    made = json.loads(shell.on("initial-access", "create", "--set", "count=2"))
    assert made["token"]
    listed = shell.on("initial-access", "list", "--output", "json")
    assert made["token"] not in listed
    assert json.loads(listed)[0]["count"] == 2
    shell.on("initial-access", "delete", made["id"], "--yes")
    assert shell.on("initial-access", "list") == ""


def test_a_feature_that_is_missing_says_so(shell: Shell) -> None:
    assert shell.on("identity-provider", "list") == ""
    said = shell.on("identity-provider", "create", "google", code=FAILED)
    assert said == "Error: Identity brokering is not supported\n"


def test_texts_of_pages_are_set_and_removed(shell: Shell) -> None:
    shell.on("text", "set", "en", "loginTitle", "Hello")
    assert shell.get("localization/en") == {"loginTitle": "Hello"}
    assert shell.on("text", "show", "en", "loginTitle") == "Hello\n"
    shell.on("text", "set", "en", "hostile", "a\x1b[2Jb\nc")
    assert shell.on("text", "show", "en", "hostile") == "a\\x1b[2Jb\nc\n"
    shell.on("text", "delete", "en", "hostile")
    shell.on("text", "import", "en", "--set", "other=x")
    shell.on("text", "delete", "en", "loginTitle")
    assert json.loads(shell.on("text", "list", "en")) == {"other": "x"}
    shell.on("text", "clear", "en", "--yes")
    assert shell.on("text", "locales") == ""


def test_changes_of_one_document_at_once_are_not_lost(shell: Shell) -> None:
    """Each command reads the document of all profiles, and replaces it with If-Match."""
    gateway = shell.administration.gateway
    environment = {"REALMGATE_STATE_DIR": str(gateway.state_dir)}

    def create(name: str) -> str | None:
        words = ("client-profile", "create", name, "--realm", REALM)
        done = run_command(words, cwd=gateway.state_dir, env=environment)
        assert done.returncode == DONE or "changed" in done.stderr, done.stderr
        return name if done.returncode == DONE else None

    with ThreadPoolExecutor(4) as pool:
        created = set(filter(None, pool.map(create, ("one", "two", "three", "four"))))
    assert created
    assert {item["name"] for item in shell.get("client-policies/profiles")["profiles"]} == created

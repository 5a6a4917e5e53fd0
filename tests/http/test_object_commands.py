"""Objects of the admin API from a shell, by name, beside a running gateway."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.cli.admin_objects import ACTIONS, CREATE, LIST, OBJECTS, AdminObject
from gateway.cli.admin_rows import AdminRows
from gateway.cli.output import text_on_terminal
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
        return self.run_with(None, *words, code=code)

    def run_with(self, text: str | None, *words: str, code: int = DONE) -> str:
        """Run a command with that standard input."""
        done = self.administration.command(*words, text=text)
        assert done.exception is None or isinstance(done.exception, SystemExit), words
        assert done.exit_code == code, done.output
        return done.output

    def on(
        self, command: str, verb: str, *words: str, code: int = DONE, text: str | None = None
    ) -> str:
        return self.run_with(text, *command.split(), verb, *words, "--realm", REALM, code=code)

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
    assert said == "extra: added\nphone: already present\n"
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
    assert shell.on("text", "show", "en", "hostile") == "a\x1b[2Jb\nc\n"
    shell.on("text", "delete", "en", "hostile", "--yes")
    shell.on("text", "import", "en", "--set", "other=x")
    shell.on("text", "delete", "en", "loginTitle", "--yes")
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


def test_entries_of_file_set_and_options_are_merged(shell: Shell) -> None:
    file = json.dumps({"attributes": {"gui.order": "1", "b": "file"}, "description": "file"})
    given = ("--file", "-", "--attribute", "c=option", "--set", 'attributes={"b":"set"}')
    shell.on("client-scope", "create", "merged", *given, text=file)
    found = json.loads(shell.on("client-scope", "show", "merged"))
    assert found["description"] == "file"
    wanted = {"gui.order": "1", "b": "set", "c": "option"}
    assert wanted.items() <= found["attributes"].items()
    config = {"priority": ["1"], "algorithm": ["HS256"]}
    file = json.dumps({**_KEY, "config": config})
    shell.on("component", "create", "merged", "--file", "-", "--config", "priority=7", text=file)
    found = json.loads(shell.on("component", "show", "merged"))
    assert (config | {"priority": ["7"]}).items() <= found["config"].items()
    twice = ("--set", 'config={"priority":["1"]}', "--config", "priority=2")
    assert "priority" in shell.on("component", "update", "merged", *twice, code=BAD)
    for command in ("client-scope", "component"):
        shell.on(command, "delete", "merged", "--yes")


_KEY = {"providerId": "hmac-generated", "providerType": "org.keycloak.keys.KeyProvider"}
_ODD = ("5", "true", '"x"', '["a"]', "[]", "null", '{"priority":5}', '{"priority":{"a":1}}')


def test_values_of_a_wrong_type_are_usage_errors(shell: Shell) -> None:
    shell.run("user", "create", "odd", "--realm", REALM)
    for member, option, words in (
        ("attributes", "--attribute", ("client-scope", "update", "profile")),
        ("config", "--config", ("client-scope mapper", "update", "profile", "username")),
        (
            "config",
            "--config",
            ("component", "create", "odd", "--set", "providerId=hmac-generated"),
        ),
        ("attributes", "--attribute", ("user", "update", "odd")),
    ):
        for value in _ODD:
            for more in ((), (option, "priority=1"), (option, "other=1")):
                given = (*words[0].split(), *words[1:], "--set", f"{member}={value}", *more)
                done = shell.administration.command(*given, "--realm", REALM)
                assert isinstance(done.exception, SystemExit | None), (given, done.exception)
                if more and value in {"5", "true", '"x"', '["a"]', "[]"}:
                    assert done.exit_code == BAD, (given, done.output)
                    assert "an object is expected" in done.output, given
    shell.run("user", "delete", "odd", "--yes", "--realm", REALM)


def test_a_created_or_renamed_object_is_read_by_its_id(shell: Shell) -> None:
    key = tuple(f"--set={name}={value}" for name, value in _KEY.items())
    for _ in range(2):
        assert "created, id" in shell.on("component", "create", "twin", *key)
    shell.on("component", "create", "third", *key)
    said = shell.on("component", "update", "third", "--set", "name=twin")
    assert said == "component third: updated\n"
    found = json.loads(shell.on("component", "list", "--output", "json"))
    twins = [item["id"] for item in found if item.get("name") == "twin"]
    assert len(twins) == 3
    for twin in twins:
        shell.on("component", "delete", twin, "--yes")
    shell.on("required-action", "update", "CONFIGURE_TOTP", "--set", "name=App")
    assert json.loads(shell.on("required-action", "show", "CONFIGURE_TOTP"))["name"] == "App"
    shell.on("required-action", "update", "App", "--set", "name=Other")
    shell.on("flow", "copy", "browser", "renamed")
    shell.on("flow execution", "update", "renamed", "renamed forms", "--set", "displayName=New")
    assert "New" in shell.on("flow execution", "list", "renamed")
    shell.on("flow", "update", "renamed", "--set", "alias=again")
    shell.on("flow", "delete", "again", "--yes")
    said = shell.on("client-scope", "update", "profile", "--file", "-", text='{"x": 1}', code=BAD)
    assert "updated" not in said
    said = shell.on("client-policy", "create", "odd", "--set", "descripton=x", code=BAD)
    assert "created" not in said or "stored, but" in said


def _interpose(
    monkeypatch: pytest.MonkeyPatch, url: str, change: Callable[[], object], *, before: str
) -> None:
    """Run a change of another administrator before the first operation of that method."""
    run, left = AdminRows.run, [change]

    async def run_after_change(self: AdminRows, method: str, path: str, *a: Any, **b: Any) -> Any:
        if (method, path) == (before, url) and left:
            left.pop()()
        return await run(self, method, path, *a, **b)

    monkeypatch.setattr(AdminRows, "run", run_after_change)


@pytest.mark.parametrize("one", [each for each in OBJECTS if each.items], ids=lambda one: one.items)
def test_a_change_between_read_and_write_is_not_lost(
    shell: Shell, one: AdminObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[one.command]
    shell.on(one.command, "create", sample.name, *sample.set)
    document = shell.get(one.url)
    member = "description" if one.url.startswith("client-policies") else "displayName"
    member = "displayHeader" if one.items == "groups" else member
    reads: list[str] = []
    run = AdminRows.run

    async def counted(self: AdminRows, method: str, path: str, *a: Any, **b: Any) -> Any:
        answer = await run(self, method, path, *a, **b)
        reads.append(method)
        if reads == ["GET"]:
            for item in document[one.items]:
                if item["name"] == sample.name:
                    item[member] = "of another"
            ask = shell.administration.ask
            assert ask("PUT", f"{REALM}/{one.url}", document=document).is_success
        return answer

    monkeypatch.setattr(AdminRows, "run", counted)
    words = (*one.command.split(), "update", sample.name, *sample.change, "--realm", REALM)
    done = shell.administration.command(*words)
    monkeypatch.undo()
    after = json.loads(shell.on(one.command, "show", sample.name))
    assert after[member] == "of another", done.output
    assert done.exit_code == FAILED
    assert "changed" in done.output
    shell.on(one.command, "delete", sample.name, "--yes")


def test_an_execution_update_sends_what_it_changes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.on("flow", "copy", "browser", "partial")
    shell.on("flow execution", "add", "partial", "allow-access-authenticator")
    named = ("partial", "allow-access-authenticator")
    before = json.loads(shell.on("flow execution", "show", *named))

    def require() -> None:
        path = f"{REALM}/authentication/flows/partial/executions"
        changed = {**before, "requirement": "REQUIRED"}
        assert shell.administration.ask("PUT", path, document=changed).is_success

    url = "authentication/flows/{alias}/executions"
    _interpose(monkeypatch, url, require, before="PUT")
    shell.on("flow execution", "update", *named, "--set", "priority=77")
    after = json.loads(shell.on("flow execution", "show", *named))
    assert (after["requirement"], after["priority"]) == ("REQUIRED", 77)
    shell.on("flow execution", "update", *named, "--set", "requirement=DISABLED")
    assert json.loads(shell.on("flow execution", "show", *named))["priority"] == 77
    shell.on("flow", "delete", "partial", "--yes")


def test_a_question_names_the_whole_object(shell: Shell) -> None:
    shell.run("user", "create", "asked", "--realm", REALM)
    shell.on("client mapper", "create", "broker", "asked", *_MAPPER)
    shell.on("text", "set", "en", "greeting", "Hello")
    of_realm = f"of the realm {REALM}? "
    for command, words, question in (
        (
            "client mapper delete",
            ("broker", "asked"),
            "the protocol mapper asked of the client broker ",
        ),
        ("client-scope delete", ("profile",), "Delete the client scope profile "),
        ("user delete", ("ASKED",), "Delete the user ASKED "),
        ("text clear", ("en",), "Delete all texts of the locale en "),
        ("text delete", ("en", "greeting"), "Delete the text greeting of the locale en "),
        ("user unlock-all", (), "Clear the login failures of all users "),
        ("client secret renew", ("broker",), "Replace the secret of the client broker "),
    ):
        said = shell.run(*command.split(), *words, "--realm", REALM, code=FAILED)
        assert question + of_realm in said, command
    assert shell.get("localization/en") == {"greeting": "Hello"}
    assert (
        shell.run("user", "delete", "ASKED", "--yes", "--realm", REALM) == "user ASKED: removed\n"
    )
    shell.on("client mapper", "delete", "broker", "asked", "--yes")
    shell.on("text", "clear", "en", "--yes")


def test_every_action_that_destroys_asks_with_all_names() -> None:
    replaces = {"client secret renew", "client registration-token", "client key generate"}
    for action in ACTIONS:
        if action.method == "DELETE" or action.command in replaces:
            assert action.asks.count("{") == len(action.arguments), action.command


def test_texts_are_escaped_on_a_terminal_only(shell: Shell) -> None:
    text = "a\tb\u00a0c\u202fd\u2028e\x85f\x1b[2J\u202eg\nh"
    shell.on("text", "set", "en", "whole", text)
    assert shell.on("text", "show", "en", "whole") == f"{text}\n"
    shown = "a\tb\u00a0c\u202fd\u2028e\\x85f\\x1b[2J\\u202eg\nh"
    assert text_on_terminal(text) == shown
    shell.on("text", "clear", "en", "--yes")


def test_a_description_is_read_from_a_file(shell: Shell) -> None:
    text = json.dumps({"client_name": "app", "redirect_uris": ["https://app.test/cb"]})
    said = shell.run_with(text, "client", "convert", "--file", "-", "--realm", REALM)
    assert json.loads(said)["redirectUris"] == ["https://app.test/cb"]
    shell.run("client", "convert", "--realm", REALM, code=BAD)

"""Every way to set a password passes the realm's rules, and former passwords are remembered."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.admin.realm_files.user_import import UserImport
from gateway.domain.errors import InvalidInput
from gateway.domain.users import FORMER_PASSWORD, PASSWORD, Credential
from gateway.password_policies import PasswordRefused
from gateway.representations.json_input import StreamedObject
from gateway.storage.realm_texts import FilePasswordBlacklists
from tests.support.created_users import create_user
from tests.support.operators import PasswordSetter
from tests.support.realm_imports import Imports, changed
from tests.support.set_clock import SetClock

CHEAP = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"


class People:
    """The administration of users of the realm `acme` with the rules given."""

    def __init__(self, imports: Imports, blacklists: Path) -> None:
        self.imports = imports
        self.clock = SetClock(imports.clock.now())
        imports.clock = self.clock
        self.blacklists = FilePasswordBlacklists(blacklists)
        self.passwords = PasswordSetter(
            imports.database, imports.passwords, self.clock, imports.messages, self.blacklists
        )

    async def create(self, document: dict[str, Any], password: str) -> None:
        """Create a user with a password as an operator."""
        credentials = [{"type": PASSWORD, "value": password}]
        sent = {**document, "credentials": credentials}
        await create_user(self.imports, sent, blacklists=self.blacklists)

    async def set(self, text: str) -> str | None:
        """Set the password of alice a day later; return the refusal."""
        self.clock.advance(timedelta(days=1))
        try:
            await self.passwords.set("acme", (await self.imports.user("alice")).id, text)
        except PasswordRefused as refused:
            return str(refused)
        return None

    async def credentials(self) -> tuple[Credential, ...]:
        """Return what is stored for alice."""
        user = await self.imports.user("alice")
        async with self.imports.database.read() as stores:
            return await stores.users.credentials("acme", user.id)

    async def former(self) -> int:
        """Count the former passwords of alice."""
        return [one.type for one in await self.credentials()].count(FORMER_PASSWORD)


async def people(imports: Imports, blacklists: Path, rules: str) -> People:
    """Import the realm without rules, so that alice is there, then give it these."""
    await imports.run(changed(passwordPolicy=CHEAP))
    made = People(imports, blacklists)
    await imports.run({"realm": "acme", "passwordPolicy": f"{CHEAP} and {rules}"})
    return made


async def test_a_refused_password_changes_nothing(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    alice = await people(imports_everywhere, tmp_path, "length(16) and digits(1)")
    before = await alice.credentials()
    assert await alice.set("too short 1") == "Invalid password: minimum length 16."
    assert await alice.credentials() == before
    assert await alice.set("long enough and 1 digit") is None
    assert await imports_everywhere.password_is("alice", "long enough and 1 digit")


async def test_recent_passwords_are_remembered_and_older_forgotten(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    alice = await people(imports_everywhere, tmp_path, "passwordHistory(3)")
    refused = "Invalid password: must not be equal to any of last 3 passwords."
    assert await alice.set("alice-canary") == refused
    counts = []
    for text in ("first", "second", "third"):
        assert await alice.set(text) is None
        counts.append(await alice.former())
    assert counts == [1, 2, 2]
    assert [await alice.set(text) for text in ("first", "second", "third")] == [refused] * 3
    assert await alice.set("alice-canary") is None
    assert await alice.set("first") is None


async def test_a_shorter_history_forgets_what_it_does_not_ask_for(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    """A hash that nobody compares with is only worth something to a thief."""
    alice = await people(imports_everywhere, tmp_path, "passwordHistory(9)")
    for text in ("first", "second", "third"):
        await alice.set(text)
    assert await alice.former() == 3
    await imports_everywhere.run({"realm": "acme", "passwordPolicy": CHEAP})
    assert await alice.set("fourth") is None
    assert await alice.former() == 0
    assert len(await alice.credentials()) == 1


async def test_former_passwords_are_kept_for_the_days_of_their_rule(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    alice = await people(imports_everywhere, tmp_path, "passwordAge(3)")
    for text in ("first", "second", "third", "fourth", "fifth"):
        assert await alice.set(text) is None
    assert await alice.former() == 2
    assert await alice.set("fourth") is not None
    assert await alice.set("third") is None


async def test_the_rule_about_a_list_reads_the_list(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    alice = await people(imports_everywhere, tmp_path, "passwordBlacklist(worst.txt)")
    with pytest.raises(InvalidInput, match="password-blacklists"):
        await alice.set("anything")
    (tmp_path / "worst.txt").write_text("letmein\n")
    assert await alice.set("LetMeIn") == "Invalid password: password is blacklisted."
    assert await alice.set("anything") is None


async def test_a_user_is_not_made_with_a_password_that_breaks_a_rule(
    imports_everywhere: Imports, tmp_path: Path
) -> None:
    alice = await people(imports_everywhere, tmp_path, "notUsername and notEmail")
    document = {"username": "carol", "email": "carol@acme.test", "enabled": True}
    for text in ("Carol", "CAROL@acme.test"):
        with pytest.raises(PasswordRefused):
            await alice.create(document, text)
    await alice.create(document, "something else")
    assert await imports_everywhere.password_is("carol", "something else")


SHORT = [{"type": PASSWORD, "value": "canary"}]


async def test_a_realm_file_with_such_a_password_is_refused_there(
    imports: Imports,
) -> None:
    users: list[dict[str, Any]] = [
        {"username": "hugo", "credentials": [{"type": PASSWORD, "value": "long enough"}]},
        {"username": "carol", "credentials": SHORT},
    ]
    document = changed(passwordPolicy=f"{CHEAP} and length(10)", users=users)
    with pytest.raises(InvalidInput) as refusal:
        await imports.run(document)
    (error,) = refusal.value.errors
    assert str(error) == (
        "0.json: users[1].credentials[0].value: a hidden value given, a password that keeps the"
        " realm's rules (Invalid password: minimum length 10.) expected"
    )
    assert await imports.realm_text("acme") is None


async def test_user_import_refuses_such_passwords_and_accepts_hashes(
    imports: Imports,
) -> None:
    await imports.run(changed(passwordPolicy=CHEAP))
    async with imports.database.read() as stores:
        alice = await stores.users.find_by_username("acme", "alice")
        assert alice is not None
        (held,) = await stores.users.credentials("acme", alice.id)
    await imports.run({"realm": "acme", "passwordPolicy": f"{CHEAP} and length(30)"})
    hashed = {
        "type": PASSWORD,
        "credentialData": held.credential_data,
        "secretData": held.secret_data,
    }
    refused: list[InvalidInput] = []
    stream = UserImport(database=imports.database, passwords=imports.passwords, clock=imports.clock)
    done = await stream.run(
        "acme",
        [
            StreamedObject(1, {"username": "carol", "credentials": SHORT}, 1),
            StreamedObject(2, {"username": "dave", "credentials": [hashed]}, 2),
        ],
        refuse=refused.append,
    )
    assert (done.added, done.refused) == (1, 1)
    assert "users[1].credentials[0].value" in str(refused[0])
    assert "minimum length 30" in str(refused[0])
    assert await imports.password_is("dave", "alice-canary")


async def test_the_first_administrator_has_to_keep_the_rules_of_master(imports: Imports) -> None:
    await imports.run({"realm": "master", "enabled": True, "passwordPolicy": "length(12)"})
    with pytest.raises(InvalidInput, match=r"the rules of the realm master .*minimum length 12"):
        await imports.administrator("root", "canary")
    assert await imports.administrator("root", "long enough now")
    assert not await imports.administrator("root", "canary"), "it is there, and left alone"

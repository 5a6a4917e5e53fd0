"""Who may do what, for every row of the admin API's table. Keycloak: 9.

Each role by itself asks each operation about what does not exist: 403 exactly where the row does
not name the role. Named roles ask from the realm and from `master`, other roles from one of both in
turn, since one function reads the roles of both. A token of another realm opens nothing, and what
is another realm's is found nowhere.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import pytest
from _pytest.mark import ParameterSet

from gateway.admin.access.rights import AdminRole
from gateway.admin.users import QUERY_USERS
from gateway.http.admin.operations import Decided, Operation, State
from tests.support.admin_operations import operations, send, title, url_of
from tests.support.administered_realm import AdministeredRealm, administered_realm, client_in_sql
from tests.support.administration import NAMES, Administration
from tests.support.wire import claims_of

REALM = "/admin/realms/{realm}"
NOTHING: Mapping[str, str] = {}
SHOWN = frozenset(AdminRole) - {AdminRole.IMPERSONATION}
WHO_ASKS = ("GET", "/admin/{realm}/console/whoami")
"""Told to each of the realm and to nobody else: see test_admin_server_info.py."""
BY_USE_CASE: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "/admin/realms"): SHOWN,
    ("POST", "/admin/realms"): frozenset(),
    ("GET", REALM): SHOWN,
    ("GET", "/admin/serverinfo"): frozenset(AdminRole),
    WHO_ASKS: frozenset(),
}
"""Rows that do not name roles: who may all the same, of those who have one role over one realm."""
ENDING = ("DELETE", REALM)
"""What ends the realm, and is asked of one that is made for it."""
EVERYTHING = "everything"


def rows(*, having: Callable[[Operation], object]) -> list[ParameterSet]:
    """Return those of the rows as parameters of a test."""
    return [pytest.param(row, id=title(row)) for row in operations() if having(row)]


def is_ending(row: Operation) -> bool:
    return (row.method, row.path) == ENDING


def is_asked_by_each(row: Operation) -> bool:
    return not is_ending(row) and (row.method, row.path) != WHO_ASKS


def is_of_a_realm(row: Operation) -> bool:
    return row.path.startswith(REALM)


@contextmanager
def asked_realm(administration: Administration, name: str) -> Iterator[AdministeredRealm]:
    """Make a realm over which there is somebody for each role, in it and in `master`."""
    administrators: dict[str, list[str]] = {
        str(one): [str(one)] if one != "nobody" else [] for one in NAMES
    }
    master = AdministeredRealm(administration, "master")
    with administered_realm(administration, name, administrators) as made:
        holder = client_in_sql(administration, "master", f"{name}-realm")
        for role in AdminRole:
            (found,) = master.get(f"clients/{holder}/roles?search={role}&first=0&max=99")[:1]
            assert found["name"] == role
            path = f"users/{master.account(role)}/role-mappings/clients/{holder}"
            master.change("POST", path, [found])
            # Tokens carry roles: one that was issued before lets nobody do more.
            administration.tokens.pop((role, "master"), None)
        yield made


@pytest.fixture(scope="module")
def matrix(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm to ask about, whatever becomes of it."""
    with asked_realm(administration, "matrix") as made:
        yield made


@pytest.fixture(scope="module")
def stranger(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with somebody who may do everything, there."""
    with administered_realm(administration, "stranger", {EVERYTHING: ["realm-admin"]}) as made:
        yield made


@pytest.fixture(scope="module")
def pairs(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with somebody for each two roles that some operation takes together."""
    wanted: dict[str, list[str]] = {
        f"{one}-and-{other}": [one, other]
        for row in operations()
        if row.also and isinstance(row.allowed, tuple)
        for one in row.allowed
        for other in row.also
    }
    with administered_realm(administration, "pairs", wanted) as made:
        yield made


def allowed(operation: Operation) -> frozenset[str]:
    """Return the roles that are each sufficient."""
    if operation.proven:
        # One role is never every right.
        return frozenset()
    if operation.allowed is Decided.BY_USE_CASE:
        return BY_USE_CASE[operation.method, operation.path]
    if operation.allowed is Decided.ANY_ROLE:
        return frozenset(AdminRole)
    if operation.allowed is Decided.ANY_BUT_IMPERSONATION:
        return SHOWN
    named = operation.allowed
    assert isinstance(named, tuple)
    return frozenset(named) & frozenset(operation.also or AdminRole)


def answer_of(
    administration: Administration,
    operation: Operation,
    realm: str,
    token: str,
    known: Mapping[str, str] = NOTHING,
) -> int:
    """Ask about what does not exist, but for `known` objects; return the status."""
    url = url_of(operation, lambda name: known.get(name) or _named(realm, name))
    return send(administration, operation, url, token).status_code


def known_to(
    administration: Administration, operation: Operation, realm: str, name: str
) -> Mapping[str, str]:
    """Return objects that exist, where a caller without the right learns which users do not."""
    below_user = "/users/{user_id}/" in f"{operation.path}/"
    if not below_user or name in allowed(operation) or name not in QUERY_USERS:
        return NOTHING
    user = str(claims_of(administration.token("nobody", realm))["sub"])
    return {"user_id": user, "client_id": "client-of-nobody"}


def _named(realm: str, placeholder: str) -> str:
    return realm if placeholder == "realm" else f"no-{placeholder}"


def callers(operation: Operation) -> tuple[str, ...]:
    """Return who asks; unsupported endpoints have a test of their own for the other roles."""
    return NAMES if operation.state is not State.NOT_SUPPORTED else (NAMES[0], "nobody")


def homes_of(operation: Operation, name: str) -> tuple[bool, ...]:
    """Return whether the caller is of the realm, for each caller of that name: else of `master`.

    Named roles are of both. The others are of either in turn, from name to name and row to row.
    """
    if name in allowed(operation):
        return True, False
    row = next(number for number, each in enumerate(operations()) if each is operation)
    return ((row + NAMES.index(name)) % 2 == 0,)


def who_is_refused(
    administration: Administration, operation: Operation, realm: str
) -> dict[tuple[str, str], bool]:
    """Return by realm and name of each caller whether it gets 403; who may not asks first."""
    may = allowed(operation)
    refused = {}
    for name in sorted(callers(operation), key=lambda name: name in may):
        for is_of_realm in homes_of(operation, name):
            home = realm if is_of_realm else "master"
            token = administration.token(name, home)
            known = known_to(administration, operation, realm, name)
            status = answer_of(administration, operation, realm, token, known)
            if status == 401:
                # An operation before has ended all that was issued: that is its purpose.
                del administration.tokens[name, home]
                token = administration.token(name, home)
                status = answer_of(administration, operation, realm, token, known)
            assert status not in {401, 405, 415, 500} - set(operation.refuses), (name, home)
            refused[home, name] = status == 403
    return refused


def test_rows_that_do_not_name_roles_are_all_looked_at() -> None:
    found = {(row.method, row.path) for row in operations() if row.allowed is Decided.BY_USE_CASE}
    assert found == BY_USE_CASE.keys()


@pytest.mark.parametrize("operation", rows(having=is_asked_by_each))
def test_an_operation_takes_its_roles_and_no_others(
    administration: Administration, matrix: AdministeredRealm, operation: Operation
) -> None:
    refused = who_is_refused(administration, operation, matrix.name)
    assert {name for _, name in refused} == set(callers(operation))
    assert refused == {(home, name): name not in allowed(operation) for home, name in refused}


def test_each_role_is_refused_from_the_realm_and_from_master() -> None:
    """Each name asks some row from each of the two, and some row is asked by it in vain."""
    for name in NAMES:
        rows_in_vain = [row for row in operations() if name not in allowed(row)]
        assert {home for row in rows_in_vain for home in homes_of(row, name)} == {True, False}


@pytest.mark.parametrize("home", ["ending", "master"])
def test_a_realm_is_ended_by_who_manages_it_and_by_nobody_else(
    administration: Administration, home: str
) -> None:
    (operation,) = filter(is_ending, operations())
    assert allowed(operation) == {AdminRole.MANAGE_REALM}
    with asked_realm(administration, "ending") as made:
        for name in sorted(NAMES, key=lambda name: name == AdminRole.MANAGE_REALM):
            token = administration.fresh_token(name, home)
            status = answer_of(administration, operation, made.name, token)
            assert status == (204 if name == AdminRole.MANAGE_REALM else 403), name


@pytest.mark.parametrize("operation", rows(having=lambda row: row.also))
def test_an_operation_that_takes_two_roles_is_content_with_both(
    administration: Administration, pairs: AdministeredRealm, operation: Operation
) -> None:
    assert isinstance(operation.allowed, tuple)
    for one in operation.allowed:
        for other in operation.also:
            token = administration.token(f"{one}-and-{other}", pairs.name)
            status = answer_of(administration, operation, pairs.name, token)
            assert status not in {401, 403}, (one, other)


@pytest.mark.parametrize("operation", rows(having=is_of_a_realm))
def test_a_token_of_another_realm_opens_nothing(
    administration: Administration,
    matrix: AdministeredRealm,
    stranger: AdministeredRealm,
    operation: Operation,
) -> None:
    token = administration.token(EVERYTHING, stranger.name)
    for realm in (matrix.name, "master"):
        assert answer_of(administration, operation, realm, token) == 403
    own = administration.token(AdminRole.MANAGE_REALM, "acme")
    assert answer_of(administration, operation, stranger.name, own) == 403


@pytest.mark.parametrize("operation", rows(having=lambda _: True))
def test_without_a_token_nobody_learns_anything(
    administration: Administration, operation: Operation
) -> None:
    for realm in ("acme", "nowhere"):
        url = url_of(operation, partial(_named, realm))
        answer = administration.http.request(operation.method, url)
        assert (answer.status_code, answer.json()) == (401, {"error": "HTTP 401 Unauthorized"})

"""Listing users: filters, pages and shapes. Keycloak: 7.2, 8.3."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.administration import USERNAMES, Administration


def found(administration: Administration, **query: str) -> list[str]:
    names = [user["username"] for user in administration.get("users", **query)]
    assert administration.get("users/count", **query) == len(names)
    return names


def test_every_user_but_service_accounts_is_listed_by_name(administration: Administration) -> None:
    assert found(administration) == list(USERNAMES)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"username": "NN"}, ["anna", "annabel"]),
        ({"username": "anna", "exact": "true"}, ["anna"]),
        ({"username": "anna", "exact": "True"}, ["anna"]),
        ({"username": "Anna", "exact": "false"}, ["anna", "annabel"]),
        ({"email": "acme"}, ["anna", "bob"]),
        ({"email": "bob@acme.test", "exact": "true"}, ["bob"]),
        ({"firstName": "a"}, ["anna", "carl", "dora"]),
        ({"firstName": "Belle", "exact": "true"}, ["annabel"]),
        ({"lastName": "an"}, ["carl"]),
        ({"lastName": "an", "firstName": "x"}, []),
        ({"enabled": "false"}, ["dora"]),
        ({"enabled": "true"}, ["anna", "annabel", "bob", "carl"]),
        ({"emailVerified": "true"}, ["anna"]),
        ({"emailVerified": ""}, list(USERNAMES)),
        ({"q": "team:red"}, ["bob"]),
        ({"q": "team:blue desk:2"}, []),
        ({"q": 'team:blue "desk":"1 a"'}, ["carl"]),
        ({"search": "ann"}, ["anna", "annabel"]),
        ({"search": "AND"}, ["carl"]),
        ({"search": "*nd*"}, ["anna", "carl"]),
        ({"search": '"anna"'}, ["anna"]),
        ({"search": "belle@"}, ["annabel"]),
        ({"search": "id:id-of-bob"}, ["bob"]),
        ({"search": "id:id-of-bob id-of-carl nobody"}, ["bob", "carl"]),
        ({"search": "id:id-of-zoe"}, []),
        (
            {"username": "Service-account-View-Users", "exact": "True"},
            ["service-account-view-users"],
        ),
        ({"username": "service-account-view-users", "exact": "true", "enabled": "false"}, []),
        ({"username": "service-account-view-users"}, ["service-account-view-users"]),
        ({"username": "service-account-view-user"}, []),
        ({"q": "username:ann"}, ["anna", "annabel"]),
        ({"q": "email:bob@acme.test"}, ["bob"]),
        ({"q": "firstName:a lastName:an"}, ["carl"]),
        ({"q": "username:ann", "username": "bob"}, ["bob"]),
        ({"q": "username:ann team:red"}, []),
        ({"search": "%"}, []),
        ({"search": "_nna"}, []),
        ({"idpAlias": "google"}, []),
        ({"idpUserId": "5"}, []),
        ({"createdAfter": "2000-01-01"}, list(USERNAMES)),
        ({"createdBefore": "2000-01-01"}, []),
        ({"createdAfter": "2000-01-01", "username": "anna", "exact": "true"}, ["anna"]),
        ({"createdBefore": "2000-01-01", "username": "anna", "exact": "true"}, []),
        ({"unknown": "x"}, list(USERNAMES)),
    ],
)
def test_filters_narrow(
    administration: Administration, query: dict[str, str], names: list[str]
) -> None:
    assert found(administration, **query) == names


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ({}, ["service-account-view-users", "service-account-view-users-2"]),
        ({"max": "1"}, ["service-account-view-users"]),
        ({"first": "1"}, ["service-account-view-users-2"]),
        ({"first": "2"}, []),
        ({"max": "0"}, []),
    ],
)
def test_an_exact_service_account_name_precedes_longer_names(
    administration: Administration, page: dict[str, str], names: list[str]
) -> None:
    other = {"username": "service-account-view-users-2"}
    location = administration.ask("POST", "acme/users", document=other).headers["Location"]
    query = {"username": "service-account-view-users"}
    try:
        assert administration.get("users/count", **query) == 2
        assert [user["username"] for user in administration.get("users", **query, **page)] == names
    finally:
        administration.ask("DELETE", "acme/users/" + location.rpartition("/")[2])


def test_users_are_found_by_the_millisecond_of_their_creation(
    administration: Administration,
) -> None:
    (anna,) = administration.get("users", username="anna", exact="true")
    created = anna["createdTimestamp"]
    for name, off, is_found in (
        ("createdAfter", 0, True),
        ("createdAfter", 1, False),
        ("createdBefore", 0, True),
        ("createdBefore", -1, False),
    ):
        names = found(administration, search="anna", **{name: str(created + off)})
        assert ("anna" in names) is is_found, (name, off)


def test_a_day_that_is_none_is_refused_and_not_passed_over(
    administration: Administration,
) -> None:
    for path in ("users", "users/count"):
        response = administration.ask("GET", f"acme/{path}?createdBefore=yesterday")
        assert (response.status_code, response.json()) == (
            400,
            {
                "error": "Invalid value for 'createdBefore', expected format is yyyy-MM-dd or an"
                " Epoch timestamp"
            },
        )


def test_a_search_by_id_takes_no_more_ids_than_a_page_shows(
    administration: Administration,
) -> None:
    for path in ("users", "users/count"):
        for number, status in ((100, 200), (101, 400)):
            ids = urlencode({"search": "id:" + " ".join(map(str, range(number)))})
            assert administration.ask("GET", f"acme/{path}?{ids}").status_code == status


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ({"first": "1", "max": "2"}, USERNAMES[1:3]),
        ({"first": "4"}, USERNAMES[4:]),
        ({"first": "99"}, ()),
        ({"max": "0"}, ()),
        ({"max": "-1"}, USERNAMES),
        ({"first": "-1", "max": "2"}, USERNAMES[:2]),
        ({"first": "", "max": ""}, USERNAMES),
    ],
)
def test_pages(
    administration: Administration, page: dict[str, str], names: tuple[str, ...]
) -> None:
    assert [user["username"] for user in administration.get("users", **page)] == list(names)
    assert administration.get("users/count", **page) == len(USERNAMES)


@pytest.mark.parametrize("page", ["first=x", "max=1.5", "first=99999999999", "max=0x1"])
def test_a_page_that_is_no_number_does_not_exist(administration: Administration, page: str) -> None:
    response = administration.ask("GET", f"acme/users?{page}")
    assert (response.status_code, response.json()) == (404, {"error": "HTTP 404 Not Found"})


@pytest.mark.parametrize("query", ["search=%", "search=%ff", "search=%00", "username=%ed%a0%80"])
def test_a_query_that_is_no_text_is_refused(administration: Administration, query: str) -> None:
    response = administration.ask("GET", f"acme/users?{query}")
    assert response.status_code == 400
    assert response.json()["error"] == "invalid_request"


def test_the_first_of_a_repeated_parameter_counts(administration: Administration) -> None:
    users = administration.ask("GET", "acme/users?username=bob&username=carl").json()
    assert [user["username"] for user in users] == ["bob"]


def test_a_listed_user_has_keycloaks_fields_in_keycloaks_order(
    administration: Administration,
) -> None:
    (bob,) = administration.get("users", username="bob")
    assert bob.pop("createdTimestamp") > 0
    assert list(bob.items()) == [
        ("id", "id-of-bob"),
        ("username", "bob"),
        ("firstName", "Bob"),
        ("lastName", "Berg"),
        ("email", "bob@acme.test"),
        ("emailVerified", False),
        ("attributes", {"team": ["red"]}),
        ("enabled", True),
        ("totp", False),
        ("disableableCredentialTypes", []),
        ("requiredActions", []),
        ("notBefore", 0),
        ("access", {"manage": True}),
    ]


def test_a_brief_listing_leaves_out_attributes(administration: Administration) -> None:
    (bob,) = administration.get("users", username="bob", briefRepresentation="true")
    assert list(bob) == [
        "id",
        "username",
        "firstName",
        "lastName",
        "email",
        "emailVerified",
        "enabled",
        "createdTimestamp",
        "access",
    ]


def test_one_user_tells_what_the_caller_may_do(administration: Administration) -> None:
    dora = administration.get("users/id-of-dora", userProfileMetadata="True")
    assert dora["requiredActions"] == ["UPDATE_PASSWORD"]
    assert dora["access"] == dict.fromkeys(dora["access"], True)
    assert list(dora["access"]) == [
        "manageGroupMembership",
        "resetPassword",
        "view",
        "mapRoles",
        "impersonate",
        "manage",
    ]
    viewer = administration.token("view-users", "acme")
    seen = administration.ask("GET", "acme/users/id-of-dora", viewer).json()
    assert {name for name, may in seen["access"].items() if may} == {"view"}
    (listed,) = administration.ask("GET", "acme/users?username=dora", viewer).json()
    assert listed["access"] == {"manage": False}


def test_who_may_only_query_sees_no_user(administration: Administration) -> None:
    token = administration.token("query-users", "acme")
    assert administration.ask("GET", "acme/users", token).json() == []
    assert administration.ask("GET", "acme/users/count", token).json() == 0
    assert administration.ask("GET", "acme/users/id-of-anna", token).status_code == 403


@pytest.mark.parametrize("user_id", ["id-of-zoe", "nobody", "x" * 300])
def test_the_id_of_no_user_of_this_realm_is_not_found(
    administration: Administration, user_id: str
) -> None:
    response = administration.ask("GET", f"acme/users/{user_id}")
    assert (response.status_code, response.json()) == (404, {"error": "User not found"})


def test_a_head_request_says_what_a_get_would(administration: Administration) -> None:
    answer: Any = administration.ask("HEAD", "acme/users")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"search": " ".join("abcdefghijk")}, "search: more given, at most 10 words expected"),
        (
            {"search": "*a*b*c*d"},
            "search: more given, at most 3 times * within a word expected",
        ),
        (
            {"q": " ".join(f"{number}:x" for number in range(11))},
            "q: more given, at most 10 attributes expected",
        ),
    ],
)
def test_a_search_that_asks_for_too_much_is_refused(
    administration: Administration, query: dict[str, str], told: str
) -> None:
    for path in ("users", "users/count"):
        answer = administration.ask("GET", f"acme/{path}?{urlencode(query)}")
        assert (answer.status_code, answer.json()) == (400, {"errorMessage": told})

"""What a rule requires: one of each kind that it names, all kinds together."""

import itertools
from dataclasses import replace

import pytest

from gateway.domain.forward_auth import (
    AcceptedCredential,
    Allowed,
    BearerAudience,
    ForbiddenRequest,
    PathPattern,
    Reason,
    Requirements,
    Rule,
    Site,
    Unauthenticated,
)
from gateway.forward_auth.decisions import decide_for_caller
from tests.support.site_identities import ADA

SITE = Site("app", ("app.test",), ("staff",), ())
RULE = Rule("rule", (PathPattern("/*"),))
CALLER = replace(ADA, groups=("/teams/red/a",), scopes=frozenset({"email"}))
KINDS = {
    "realm_roles": ("admin", Reason.MISSING_REALM_ROLE),
    "client_roles": ("portal/reader", Reason.MISSING_CLIENT_ROLE),
    "scopes": ("email", Reason.MISSING_SCOPE),
    "groups": ("/teams/red", Reason.MISSING_GROUP),
    "clients": ("portal", Reason.CLIENT_NOT_ALLOWED),
}


def _requiring(**kinds: tuple[str, ...]) -> Rule:
    return replace(RULE, requirements=Requirements(**kinds))


@pytest.mark.parametrize(("kind", "owned", "reason"), [(k, *v) for k, v in KINDS.items()])
def test_one_of_a_kind_is_enough_and_none_is_not(kind: str, owned: str, reason: Reason) -> None:
    assert isinstance(
        decide_for_caller(SITE, _requiring(**{kind: ("other", owned)}), CALLER), Allowed
    )
    refused = decide_for_caller(SITE, _requiring(**{kind: ("other",)}), CALLER)
    assert isinstance(refused, ForbiddenRequest)
    assert (refused.reason, refused.error) == (reason, "insufficient_scope")


def test_all_kinds_are_needed() -> None:
    every = {kind: (owned,) for kind, (owned, _) in KINDS.items()}
    assert isinstance(decide_for_caller(SITE, _requiring(**every), CALLER), Allowed)
    for kind in KINDS:
        assert isinstance(
            decide_for_caller(SITE, _requiring(**{**every, kind: ("other",)}), CALLER),
            ForbiddenRequest,
        )


@pytest.mark.parametrize("group", ["/teams/red/a/b", "/teams/re", "/teams/red/", "/Teams/red", "a"])
def test_a_group_covers_its_subgroups_and_nothing_else(group: str) -> None:
    assert isinstance(
        decide_for_caller(SITE, _requiring(groups=(group,)), CALLER), ForbiddenRequest
    )
    assert isinstance(decide_for_caller(SITE, _requiring(groups=("/teams",)), CALLER), Allowed)


def test_a_certificate_name_needs_a_trusted_certificate() -> None:
    refused = decide_for_caller(SITE, _requiring(certificates=("subject:CN=device-1",)), CALLER)
    assert isinstance(refused, ForbiddenRequest)
    assert refused.reason is Reason.CERTIFICATE_NOT_ALLOWED


def test_a_credential_of_another_kind_is_not_accepted() -> None:
    rule = replace(RULE, accepts=frozenset({AcceptedCredential.SESSION}))
    refused = decide_for_caller(replace(SITE, client="portal"), rule, CALLER)
    assert isinstance(refused, Unauthenticated)
    assert (refused.reason, refused.may_sign_in) == (Reason.CREDENTIAL_NOT_ACCEPTED, True)


def test_a_rule_of_bound_tokens_is_one_of_tokens_alone() -> None:
    rule = replace(RULE, bound_only=True)
    refused = decide_for_caller(SITE, rule, CALLER)
    assert isinstance(refused, Unauthenticated)
    assert refused.reason is Reason.TOKEN_NOT_BOUND
    assert isinstance(decide_for_caller(SITE, rule, replace(CALLER, thumbprint="x")), Allowed)
    assert isinstance(
        decide_for_caller(SITE, rule, replace(CALLER, kind=AcceptedCredential.SESSION)), Allowed
    )


def test_a_token_passes_only_at_the_sites_that_it_is_for() -> None:
    """Every choice of the site and the rule, every `aud`, and every way to be bound."""
    names = ("app", "api", "portal", "account")
    auds = [frozenset(each) for size in range(3) for each in itertools.combinations(names, size)]
    for choice, own, audiences, clients, aud, thumbprint in itertools.product(
        (None, *BearerAudience), (None, "app"), ((), ("api",)), ((), ("portal",)), auds, (None, "x")
    ):
        site = replace(SITE, bearer_audience=choice, client=own)
        rule = replace(_requiring(clients=clients), audiences=audiences)
        caller = replace(CALLER, audiences=aud, thumbprint=thumbprint)
        own_device = bool(clients) and thumbprint is not None and aud <= {"portal", "account"}
        if audiences:
            passes = "api" in aud
        else:
            passes = choice is not BearerAudience.SITE or own in aud or own_device
        decision = decide_for_caller(site, rule, caller)
        assert isinstance(decision, Allowed) is passes, (choice, own, audiences, clients, aud)
        if isinstance(decision, Unauthenticated):
            assert decision.reason is Reason.AUDIENCE_NOT_ALLOWED
            assert decision.error == "invalid_token"
        for kind in (AcceptedCredential.SESSION, AcceptedCredential.CERTIFICATE):
            assert isinstance(decide_for_caller(site, rule, replace(caller, kind=kind)), Allowed)

"""Client policies: read once from the documents of a realm, applied to each event.

A policy acts where a condition holds and none fails; its executors run in the order of its
profiles. The global profiles, which every realm has, are shown and never changed; executors of them
without effect are in `docs/setting-effects.toml`.
Keycloak: client policies, global client profiles (26.7)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.client_policies.conditions import CONDITIONS
from gateway.client_policies.events import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    EventKind,
    InvalidConfiguration,
    PolicyEvent,
)
from gateway.client_policies.executors import EXECUTORS, WITHOUT_DEMANDS
from gateway.client_policies.interfaces import (
    ClientSettings,
    Condition,
    Executor,
    PolicyConfiguration,
    SignInDemands,
    Vote,
)
from gateway.domain.clients import Client
from gateway.domain.tables import read_table

_GLOBAL_PROFILES: Final = read_table("gateway.client_policies", "global_profiles.toml")["profiles"]


def list_global_profiles() -> list[dict[str, Any]]:
    """Return their representations, in Keycloak's order."""
    return deepcopy(_GLOBAL_PROFILES)


ChangeClient = Callable[[Client, ClientSettings], Client]
"""Sets what an executor wants at a client."""
_OPPOSITE: Final = {Vote.YES: Vote.NO, Vote.NO: Vote.YES}


@dataclass(frozen=True, slots=True)
class _Term:
    """A condition of a policy, which may be negated."""

    condition: Condition
    negated: bool

    def vote(self, event: PolicyEvent) -> Vote:
        found = self.condition.vote(event)
        return _OPPOSITE.get(found, found) if self.negated else found


@dataclass(frozen=True, slots=True)
class ClientPolicy:
    """An enabled policy with its conditions and the executors of its profiles."""

    name: str
    terms: tuple[_Term, ...]
    executors: tuple[Executor, ...]

    def applies(self, event: PolicyEvent) -> bool:
        """Return whether a condition holds and none fails; abstentions do not count.

        A change is judged where the policy applies to the client as it is or as it would be: a
        client does not leave a policy by the change that the policy has to judge.
        """
        if isinstance(event, ClientChange) and event.client is not None:
            before = replace(event, proposed=event.client)
            return self._applies(event) or self._applies(before)
        return self._applies(event)

    def _applies(self, event: PolicyEvent) -> bool:
        votes = [term.vote(event) for term in self.terms]
        return Vote.YES in votes and Vote.NO not in votes


def read_policies(policies: Any, profiles: Any) -> tuple[ClientPolicy, ...]:
    """Return the enabled policies of the documents `clientPolicies` and `clientProfiles`.

    A policy acts as a whole or not at all: one with a part that this version cannot apply, which a
    realm file may have brought, was reported then.
    """
    known = _profiles(profiles)
    enabled = (each for each in entries(policies, "policies") if each.get("enabled") is True)
    found = (_policy(policy, known) for policy in enabled)
    return tuple(policy for policy in found if policy is not None)


def policy_problem(policy: Mapping[str, Any], profiles: Any) -> str | None:
    """Return why an enabled policy that acts could not be applied as a whole, None where it can."""
    known = _profiles(profiles)
    executors = [
        each
        for name in policy.get("profiles") or ()
        for each in entries(known.get(name), "executors")
    ]
    for each in entries(policy, "conditions"):
        problem = condition_problem(each)
        if problem is not None:
            return problem
    problems = (executor_problem(each) for each in executors)
    return next((problem for problem in problems if problem is not None), None)


def condition_problem(entry: Mapping[str, Any]) -> str | None:
    """Return why a condition cannot be evaluated."""
    name = str(entry.get("condition"))
    if name not in CONDITIONS:
        return f"its condition {name[:100]} is not evaluated"
    try:
        _term(entry, strict=True)
    except InvalidConfiguration as error:
        return f"its condition {name}: {error}"
    return None


def executor_problem(entry: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the configuration of an executor that acts; None of others."""
    name = str(entry.get("executor"))
    if name not in EXECUTORS:
        return None
    try:
        EXECUTORS[name].read(PolicyConfiguration(entry.get("configuration")))
    except InvalidConfiguration as error:
        return f"its executor {name}: {error}"
    return None


def applied_executors(policies: Sequence[ClientPolicy], event: PolicyEvent) -> Iterator[Executor]:
    """Yield the executors of the policies that apply, in their order."""
    for policy in policies:
        if policy.applies(event):
            yield from policy.executors


def apply_to_change(
    policies: Sequence[ClientPolicy], change: ClientChange, change_client: ChangeClient
) -> Client:
    """Return the client as the policies leave it; raises PolicyRefusal.

    Each policy judges the client as those before it have left it.
    """
    for policy in policies:
        if not policy.applies(change):
            continue
        for executor in policy.executors:
            if change.kind in {EventKind.VIEW, EventKind.UNREGISTER}:
                executor.check_access(change)
                continue
            wanted = executor.configure(change)
            if wanted:
                change = replace(change, proposed=change_client(change.proposed, wanted))
            executor.check_change(change)
    return change.proposed


def check_start(policies: Sequence[ClientPolicy], start: AuthorizationStart) -> None:
    """Raise PolicyRefusal for an authorization request that must not begin."""
    for executor in applied_executors(policies, start):
        executor.check_start(start)


def check_authorization(
    policies: Sequence[ClientPolicy], request: AuthorizationRequested
) -> SignInDemands:
    """Return the demands of the policies on the sign-in; raises PolicyRefusal."""
    for executor in applied_executors(policies, request):
        executor.check_authorization(request)
    return sign_in_demands(policies, request)


def sign_in_demands(
    policies: Sequence[ClientPolicy], request: AuthorizationRequested
) -> SignInDemands:
    """Return the demands of the policies on the sign-in; of several flows the last one counts."""
    flow, requires_consent = None, False
    for executor in applied_executors(policies, request):
        flow = executor.enforced_flow() or flow
        requires_consent = requires_consent or executor.requires_consent()
    return SignInDemands(flow, requires_consent)


def apply_to_request(policies: Sequence[ClientPolicy], request: ClientRequest) -> Client:
    """Return the client as tokens are to be issued to it; raises PolicyRefusal."""
    for executor in applied_executors(policies, request):
        executor.check_request(request)
    return client_for_tokens(policies, request)


def client_for_tokens(policies: Sequence[ClientPolicy], request: ClientRequest) -> Client:
    """Return the client as its tokens are issued, without a judgment of the request."""
    client = request.client
    for executor in applied_executors(policies, request):
        client = executor.client_for_tokens(client, request)
    return client


def entries(document: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a list; what was stored unchecked may be anything."""
    items = document.get(name) if isinstance(document, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _policy(
    policy: Mapping[str, Any], profiles: Mapping[Any, Mapping[str, Any]]
) -> ClientPolicy | None:
    """Return the policy, None where it does nothing or has a part that cannot be applied."""
    demanding = [
        each
        for name in policy.get("profiles") or ()
        for each in entries(profiles.get(name), "executors")
        if each.get("executor") not in WITHOUT_DEMANDS
    ]
    executors = [_executor(each) for each in demanding]
    terms = [_term(each) for each in entries(policy, "conditions")]
    usable_terms = tuple(term for term in terms if term is not None)
    usable = tuple(executor for executor in executors if executor is not None)
    if not usable or not usable_terms:
        return None
    if len(usable) < len(executors) or len(usable_terms) < len(terms):
        return None
    return ClientPolicy(str(policy.get("name")), usable_terms, usable)


def _profiles(document: Any) -> dict[Any, Mapping[str, Any]]:
    """Return the profiles by name, those of every realm among them."""
    own = {str(profile.get("name")): profile for profile in entries(document, "profiles")}
    return {**own, **{profile["name"]: profile for profile in _GLOBAL_PROFILES}}


def _term(entry: Mapping[str, Any], *, strict: bool = False) -> _Term | None:
    condition = CONDITIONS.get(str(entry.get("condition")))
    if condition is None:
        return None
    try:
        configuration = PolicyConfiguration(entry.get("configuration"))
        negated = configuration.flag("is-negative-logic")
        return _Term(condition.read(configuration), negated)
    except InvalidConfiguration:
        if strict:
            raise
        return None


def _executor(entry: Mapping[str, Any]) -> Executor | None:
    executor = EXECUTORS.get(str(entry.get("executor")))
    if executor is None:
        return None
    try:
        return executor.read(PolicyConfiguration(entry.get("configuration")))
    except InvalidConfiguration:
        return None

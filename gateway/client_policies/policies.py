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

        A change is judged by the client before and after it, so no change takes a client out of a
        policy.
        """
        if isinstance(event, ClientChange) and event.client is not None:
            return self._applies(event) or self._applies(replace(event, proposed=event.client))
        return self._applies(event)

    def _applies(self, event: PolicyEvent) -> bool:
        votes = [term.vote(event) for term in self.terms]
        return Vote.YES in votes and Vote.NO not in votes


def read_policies(policies: Any, profiles: Any) -> tuple[ClientPolicy, ...]:
    """Return the enabled policies that can be applied whole; the import reports the others."""
    known = _profiles(profiles)
    enabled = (each for each in entries(policies, "policies") if each.get("enabled") is True)
    return tuple(filter(None, (_parse_policy(policy, known) for policy in enabled)))


def policy_problem(policy: Mapping[str, Any], profiles: Any) -> str | None:
    """Return why an enabled policy that acts could not be applied as a whole, None where it can."""
    try:
        for each in entries(policy, "conditions"):
            _parse_term(each)
    except InvalidConfiguration as error:
        return str(error)
    problems = map(executor_problem, _executor_entries(policy, _profiles(profiles)))
    return next(filter(None, problems), None)


def executor_problem(entry: Mapping[str, Any]) -> str | None:
    """Return the error in the configuration of a known executor, None for unknown ones."""
    if str(entry.get("executor")) not in EXECUTORS:
        return None
    try:
        _parse_executor(entry)
    except InvalidConfiguration as error:
        return str(error)
    return None


def applied_executors(policies: Sequence[ClientPolicy], event: PolicyEvent) -> Iterator[Executor]:
    """Yield the executors of the policies that apply, in their order."""
    for policy in policies:
        if policy.applies(event):
            yield from policy.executors


def apply_to_change(
    policies: Sequence[ClientPolicy], change: ClientChange, change_client: ChangeClient
) -> Client:
    """Return the client after each policy has changed and judged it; raises PolicyRefusal."""
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


def _parse_policy(
    policy: Mapping[str, Any], profiles: Mapping[Any, Mapping[str, Any]]
) -> ClientPolicy | None:
    """Return the policy, None where it does nothing or has a part that cannot be applied."""
    demanding = (
        each
        for each in _executor_entries(policy, profiles)
        if each.get("executor") not in WITHOUT_DEMANDS
    )
    try:
        executors = tuple(map(_parse_executor, demanding))
        terms = tuple(map(_parse_term, entries(policy, "conditions")))
    except InvalidConfiguration:
        return None
    return ClientPolicy(str(policy.get("name")), terms, executors) if terms and executors else None


def _executor_entries(
    policy: Mapping[str, Any], profiles: Mapping[Any, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    names = policy.get("profiles") or ()
    return [each for name in names for each in entries(profiles.get(name), "executors")]


def _profiles(document: Any) -> dict[Any, Mapping[str, Any]]:
    own = {str(profile.get("name")): profile for profile in entries(document, "profiles")}
    return {**own, **{profile["name"]: profile for profile in _GLOBAL_PROFILES}}


def _parse_term(entry: Mapping[str, Any]) -> _Term:
    name = str(entry.get("condition"))
    if name not in CONDITIONS:
        raise InvalidConfiguration(f"its condition {name[:100]} is not evaluated")
    try:
        configuration = PolicyConfiguration(entry.get("configuration"))
        negated = configuration.flag("is-negative-logic")
        return _Term(CONDITIONS[name].from_configuration(configuration), negated)
    except InvalidConfiguration as error:
        raise InvalidConfiguration(f"its condition {name}: {error}") from error


def _parse_executor(entry: Mapping[str, Any]) -> Executor:
    name = str(entry.get("executor"))
    if name not in EXECUTORS:
        raise InvalidConfiguration(f"its executor {name[:100]} is unknown")
    try:
        return EXECUTORS[name].from_configuration(PolicyConfiguration(entry.get("configuration")))
    except InvalidConfiguration as error:
        raise InvalidConfiguration(f"its executor {name}: {error}") from error

"""The client registration policies in effect: what callers may register, and how.

Anonymous callers and the clients that they registered are subject to the policies of `anonymous`,
all others to those of `authenticated`. Keycloak: ClientRegistrationPolicyManager (26.7)
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from gateway.admin.registration.policy_components import realm_policies
from gateway.admin.registration.policy_rules import RULES, PolicyViolation, Registration, Rule
from gateway.admin.registration.registrars import refused_by_policy
from gateway.domain.clients import Client
from gateway.domain.limits.rate_limits import RateLimit, client_registrations
from gateway.domain.ports.storage import Stores
from gateway.representations.clients import with_fields
from gateway.representations.component import Component
from gateway.representations.registration import ANONYMOUS, AUTHENTICATED


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a realm for one caller; what they do not permit is RegistrationRefused."""

    realm_id: str
    policies: tuple[Component, ...]

    @classmethod
    async def load(cls, stores: Stores, realm_id: str, *, anonymous: bool) -> Self:
        """Read the policies for a caller."""
        sub_type = ANONYMOUS if anonymous else AUTHENTICATED
        every = await realm_policies(stores, realm_id)
        return cls(realm_id, tuple(policy for policy in every if policy.sub_type == sub_type))

    def require_sender(self, address: str | None) -> None:
        """Require that requests may come from the address."""
        for policy in self.policies:
            with _refused_by(policy) as rule:
                rule.sender(policy, address)

    async def require_room(self, stores: Stores) -> RateLimit:
        """Require that the realm may have one more client; return the limit of registrations."""
        limits = [client_registrations(None, 0)]
        for policy in self.policies:
            with _refused_by(policy) as rule:
                most = rule.most_clients(policy)
                if most is None:
                    continue
                known = len(await stores.clients.ids(self.realm_id))
                if known >= most:
                    raise PolicyViolation(f"It's allowed to have max {most} clients per realm")
                limits.append(client_registrations(most, known))
        return min(limits, key=lambda limit: limit.of_network)

    def completed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document of a new client with the fields that policies set."""
        whole = dict(document)
        for policy in self.policies:
            whole = with_fields(whole, _rule(policy).forced)
        return whole

    async def require(
        self,
        stores: Stores,
        after: Client,
        *,
        before: Client | None = None,
        scopes: Collection[str] | None = None,
    ) -> None:
        """Require that a client may be registered, or changed, as `after` says."""
        listed = await stores.client_scopes.list(self.realm_id) if scopes else ()
        offered = {scope.name for scope in listed if scope.realm_default is not None}
        registration = Registration(after, before, scopes, offered)
        for policy in self.policies:
            with _refused_by(policy) as rule:
                rule.client(policy, registration)


def _rule(policy: Component) -> Rule:
    return RULES[str(policy.provider_id)]


@contextmanager
def _refused_by(policy: Component) -> Iterator[Rule]:
    """Yield the rule of a policy, whose name is part of the refusal."""
    try:
        yield _rule(policy)
    except PolicyViolation as error:
        raise refused_by_policy(policy.name or "", str(error)) from error

"""client-updater-source-host: holds for changes from certain addresses.

Unlike in Keycloak names are never looked up, so that no answer of DNS is trusted: a host is an
address, a network such as `10.0.0.0/8`, or `localhost`. Another name is refused.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, EventKind, PolicyEvent
from gateway.client_policies.refusal import InvalidConfiguration

_LOCALHOST: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceHost(Condition):
    """Holds for addresses in one of the `networks`."""

    provider: ClassVar = "client-updater-source-host"
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        hosts = configuration.texts("trusted-hosts")
        names = [name for host in hosts for name in (_LOCALHOST if host == "localhost" else [host])]
        try:
            return cls(tuple(ip_network(name) for name in names))
        except ValueError as error:
            raise InvalidConfiguration(
                f"trusted-hosts: {error}; names of hosts are not looked up"
            ) from error

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in {
            EventKind.REGISTER,
            EventKind.UPDATE,
        }:
            return Vote.ABSTAIN
        try:
            address = ip_address(event.updater.address or "")
        except ValueError:
            return Vote.NO
        return vote(any(address in network for network in self.networks))

"""client-attributes: holds for clients that have certain attributes.

The configuration is the text of a JSON list of objects with `key` and `value`. A key that is
there twice matches no client.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, PolicyEvent
from gateway.client_policies.refusal import InvalidConfiguration


@dataclass(frozen=True, slots=True)
class ClientAttributes(Condition):
    """Holds for clients with all of `attributes`; None matches no client."""

    provider: ClassVar = "client-attributes"
    attributes: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        text = configuration.text("attributes")
        if not text:
            return cls()
        try:
            pairs = [(item["key"], item["value"]) for item in json.loads(text)]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidConfiguration(
                "attributes is no JSON list of objects with key and value"
            ) from error
        if any(not isinstance(each, str) for pair in pairs for each in pair):
            raise InvalidConfiguration("a key or a value of attributes is no text")
        counted = Counter(key for key, _ in pairs)
        return cls(tuple(pairs) if all(number == 1 for number in counted.values()) else None)

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        if self.attributes is None:
            return Vote.NO
        return vote(all(client.attributes.get(key) == value for key, value in self.attributes))

"""Event listeners: a file each, and one line here. Keycloak: EventListenerProvider.

A listener receives each event while the request is answered, or queues something of it: then the
event goes through the journal, and its row is one of the transaction that stores the event.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.listeners import email, file, jboss_logging, webhook
from gateway.listeners.listener import Listener, ListenerOptions, QueueingListener

LISTENERS: Final[Mapping[str, Callable[[ListenerOptions], Listener | QueueingListener | None]]] = {
    jboss_logging.NAME: jboss_logging.JbossLogging,
    email.NAME: email.EmailListener,
    webhook.NAME: webhook.WebhookListener,
    file.NAME: file.file_listener,
}
"""Keycloak's name -> listener, None where a setting that it needs is missing."""

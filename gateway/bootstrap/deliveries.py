"""Builds what works with the queues of mails and of events for webhooks."""

from gateway.admin.delivery_queues import (
    MailDelivery,
    UserMails,
    WaitingWebhooks,
    WebhookDeliveries,
)
from gateway.bootstrap.services import Services
from gateway.outgoing import HttpWebhookSender


def mail_delivery(services: Services) -> MailDelivery:
    """Return what sends the mails of the queue."""
    return MailDelivery(services.database, services.mail, services.clock)


def user_mails(services: Services) -> UserMails:
    """Return what puts mails into the queue."""
    return UserMails(services.database, services.clock)


def webhook_deliveries(services: Services) -> WebhookDeliveries:
    """Return what sends events to webhooks."""
    sender = HttpWebhookSender(services.http_client)
    return WebhookDeliveries(services.database, sender, services.clock)


def waiting_webhooks(services: Services) -> WaitingWebhooks:
    """Return what lists the events that wait."""
    return WaitingWebhooks(services.database, services.clock)

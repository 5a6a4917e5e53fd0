"""Builds what works with the queue of mails."""

from gateway.admin.mail import MailDelivery, UserMails
from gateway.bootstrap.services import Services


def mail_delivery(services: Services) -> MailDelivery:
    """Return what sends the mails of the queue."""
    return MailDelivery(services.database, services.mail, services.clock)


def user_mails(services: Services) -> UserMails:
    """Return what puts mails into the queue."""
    return UserMails(services.database, services.clock)

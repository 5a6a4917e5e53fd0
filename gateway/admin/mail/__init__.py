"""The queue of mails to users: putting mails into it, sending them, listing what is in it."""

from gateway.admin.mail.delivery import LEASE, MailDelivery
from gateway.admin.mail.queueing import UserMails

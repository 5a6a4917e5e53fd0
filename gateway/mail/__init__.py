"""Mails: their texts by language, their form, and the mail servers that take them."""

from gateway.mail.rendering import MailRenderer, load_mail_themes
from gateway.mail.smtp import SmtpMailSender

"""Mails: their texts by language, their form, and the mail servers that take them."""

from gateway.mail.rendering import MailRenderer
from gateway.mail.smtp import SmtpMailSender
from gateway.mail.themes import load_mail_themes

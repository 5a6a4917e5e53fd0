"""The form of a mail: headers, and its body as text and HTML.

Spec: RFC 5322 §3.6, RFC 2046 §5.1.4 (multipart/alternative), RFC 3834 §5 (Auto-Submitted)
"""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from gateway.domain.mail import Mail, Mailbox, MailServer, ascii_address
from gateway.mail.rendering import RenderedMail

_POLICY: Final = SMTP.clone(cte_type="7bit")
"""Every server takes 7 bits; a header with a line break raises ValueError."""


def message_bytes(server: MailServer, mail: Mail, rendered: RenderedMail) -> bytes:
    """Return the whole message; raises MailNotSent for an address, ValueError for a text.

    Its Message-ID and Date are the same each time it is sent, so that servers recognize a copy.
    """
    message = EmailMessage(_POLICY)
    message["From"] = _address(server.sender)
    message["To"] = _address(Mailbox(ascii_address(mail.recipient)))
    if server.reply_to is not None:
        message["Reply-To"] = _address(server.reply_to)
    message["Subject"] = rendered.subject
    message["Date"] = format_datetime(mail.created_at)
    message["Message-ID"] = f"<{mail.id}@{server.sender.address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(rendered.text)
    message.add_alternative(rendered.html, subtype="html")
    return message.as_bytes()


def _address(mailbox: Mailbox) -> Address:
    return Address(display_name=mailbox.name, addr_spec=mailbox.address)

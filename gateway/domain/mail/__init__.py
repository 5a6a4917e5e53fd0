"""Mail to users: what is sent, by which server, and the queue where it waits."""

from gateway.domain.mail.expiry_mails import (
    EXPIRY_MAIL_DAYS,
    EXPIRY_MAIL_RECIPIENTS,
    MOST_RECIPIENTS,
    ExpiryMailSettings,
    are_days,
    are_recipients,
    expiry_mail,
    expiry_mails_of,
)
from gateway.domain.mail.message import (
    ABOUT_EVENTS,
    EVENT_MAILS,
    MAILED_BY_DEFAULT,
    NOTIFICATIONS,
    Encryption,
    Mail,
    Mailbox,
    MailKind,
    MailNotSent,
    MailServer,
    TokenRequest,
    ascii_address,
    can_send_mails,
    mail_server,
    mail_time,
    user_mail,
    with_link,
)
from gateway.domain.mail.queue import (
    KEPT_AFTERWARDS,
    LONGEST_WAIT,
    MOST_NOTIFICATIONS_OF_USER,
    MOST_OF_USER,
    MOST_RECIPIENTS_OF_USER,
    PERIOD,
    MailLimit,
    MailStatus,
    QueuedMail,
    limit_of,
    period_end,
)

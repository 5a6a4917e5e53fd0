"""The queue of mails on SQL."""

from gateway.storage.sql.mails.queue import SqlMails

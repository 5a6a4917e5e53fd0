"""The account console as what a user signs in to: its pages, its client, and the way back."""

from gateway.protocol.account_console.clients import ConsoleClients
from gateway.protocol.account_console.pages import AccountPage, account_page
from gateway.protocol.account_console.visit import (
    AccountResult,
    AccountVisit,
    account_result,
    account_visit,
    names_account_page,
)

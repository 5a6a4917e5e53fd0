"""Logout by a client with a refresh token, and by the user's browser; how clients learn of it."""

from gateway.protocol.logout.browser_logout import (
    AskToLogOut,
    BrowserLogout,
    LoggedOut,
    LogoutOutcome,
)
from gateway.protocol.logout.front_channel import ClientFrame
from gateway.protocol.logout.logout_request import LogoutRequest
from gateway.protocol.logout.notice_delivery import NoticeDelivery
from gateway.protocol.logout.refresh_token_logout import LogoutEndpoint

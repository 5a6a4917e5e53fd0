"""Browsers at protected sites: they sign in at the realm, return, and sign out."""

from gateway.forward_auth.browser.pending_sign_ins import PendingSignIn, PendingSignIns
from gateway.forward_auth.browser.return_urls import UnsafeReturnUrl, return_url
from gateway.forward_auth.browser.sign_in import BegunSignIn, SignedIn, SignInFailed, SiteSignIn
from gateway.forward_auth.browser.sign_out import SignOutCodes, SiteSignOut
from gateway.forward_auth.browser.urls import (
    CALLBACK_PATH,
    REFUSED_PATH,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    WANTED,
    leading_to,
)
from gateway.forward_auth.browser.visit import SiteVisit

__all__ = [
    "CALLBACK_PATH",
    "REFUSED_PATH",
    "SIGN_IN_PATH",
    "SIGN_OUT_PATH",
    "WANTED",
    "BegunSignIn",
    "PendingSignIn",
    "PendingSignIns",
    "SignInFailed",
    "SignOutCodes",
    "SignedIn",
    "SiteSignIn",
    "SiteSignOut",
    "SiteVisit",
    "UnsafeReturnUrl",
    "leading_to",
    "return_url",
]

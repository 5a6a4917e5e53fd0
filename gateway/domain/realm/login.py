"""What users may do around the sign-in. Keycloak: the realm's login settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """Switches of the sign-in pages and of user names."""

    registration_allowed: bool = False
    """`registrationAllowed`: strangers may make themselves an account."""
    registration_email_as_username: bool = False
    """`registrationEmailAsUsername`: the e-mail address is the user name."""
    remember_me: bool = False
    """`rememberMe`: the sign-in page offers a session that outlives the browser."""
    verify_email: bool = False
    """`verifyEmail`: an address must be confirmed before the first sign-in ends."""
    login_with_email_allowed: bool = True
    """`loginWithEmailAllowed`: the e-mail address is accepted in place of the user name."""
    duplicate_emails_allowed: bool = False
    """`duplicateEmailsAllowed`: two users may share an address."""
    reset_password_allowed: bool = False
    """`resetPasswordAllowed`: the sign-in page offers a reset by e-mail."""
    edit_username_allowed: bool = False
    """`editUsernameAllowed`: users may change their user name."""

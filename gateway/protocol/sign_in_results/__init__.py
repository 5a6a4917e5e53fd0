"""What follows a sign-in in a browser: consent, session, cookies, and the response."""

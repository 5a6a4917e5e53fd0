"""The sign-in engine: who proves to be which user, behind the guard against guessing."""

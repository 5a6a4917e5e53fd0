"""What a sign-in leaves for the token endpoint: codes and device authorizations."""

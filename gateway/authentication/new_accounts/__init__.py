"""New accounts: what each of them gets, and those of users who register themselves."""

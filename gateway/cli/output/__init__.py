"""What commands print: columns, lines about a user, and failures with their exit codes."""

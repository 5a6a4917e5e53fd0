"""What users do with their own accounts: one use case per action, for JSON and for pages."""

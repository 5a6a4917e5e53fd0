"""Pages of a sign-in: values, texts, templates, static files and their headers."""

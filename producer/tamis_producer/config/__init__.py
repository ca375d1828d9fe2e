"""Configuration: settings, their files, and the redaction of secrets."""

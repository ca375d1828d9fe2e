"""Configuration: settings, the files they come from, and the secrets that never leave them."""

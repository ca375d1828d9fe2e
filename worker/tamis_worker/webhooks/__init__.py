"""Webhooks: the outbox in the ledger is sent, signed, to whoever is to be told."""

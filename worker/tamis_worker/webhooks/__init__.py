"""Webhooks: sends the outbox of the ledger, signed, to its receivers."""

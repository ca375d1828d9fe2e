"""Webhooks: workers sign the messages in the ledger's outbox, and send them to their receivers."""

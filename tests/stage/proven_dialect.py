"""A ledger that knows already how the double wants to be asked, so that a worker's first calls need not find it out."""

from collections.abc import Mapping
from contextlib import suppress

import psycopg

from tamis_worker.llm.chat import Rung
from tamis_worker.llm.dialect_store import endpoint_name

OTHERS = ("other-1",)  # models that tests name beside the environment's

PUT = """
INSERT INTO dialects (endpoint, model, rung, proven) VALUES (%s, %s, %s, true) ON CONFLICT DO NOTHING
"""


def prove_dialect(environment: Mapping[str, str]) -> None:
    """Mark the endpoint and the models of a worker's environment as proven; what the ledger knows of them stays.

    The double writes what the schema allows, and reads no prompt: so it is asked with every bound. Nothing happens
    where the environment names no endpoint, or its ledger is away or has no tables.
    """
    names = ("TAMIS_DATABASE_URL", "TAMIS_LLM_BASE_URL", "TAMIS_MODEL")
    if not all(environment.get(name) for name in names):
        return
    database, base_url, model = (environment[name] for name in names)
    with (
        suppress(psycopg.OperationalError, psycopg.errors.UndefinedTable),
        psycopg.connect(database.replace("postgresql+psycopg://", "postgresql://"), connect_timeout=5) as connection,
    ):
        for name in (model, *OTHERS):
            connection.execute(PUT, (endpoint_name(base_url), name, Rung.BOUNDED.value))

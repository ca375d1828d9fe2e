"""What is in a ledger, also what no list shows."""

from sqlalchemy import select

from tamis_producer import BatchView, Client
from tamis_schemas.ledger import batches


def written_batches(client: Client) -> list[BatchView]:
    """Every batch, those of services among them, the oldest first."""
    with client.engine.connect() as connection:
        found = connection.execute(select(batches.c.id).order_by(batches.c.created_at)).scalars().all()
    return [client.batch(str(batch_id)).status() for batch_id in found]

"""A batch's records by plain reading of the ledger's tables, and the numbers that sentences name."""

import re
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, text

# Of each record: what the software decided, the last word of each person, and the people who settle, from tables alone.
TABLES = """
SELECT i.idx, i.state, e.rule, r.value #>> '{}' AS model,
       ARRAY(SELECT DISTINCT o.value #>> '{}' FROM overrides o WHERE o.batch_id = i.batch_id AND o.idx = i.idx
             AND o.stage = 'own' AND o.value IS NOT NULL AND o.id IN (
                 SELECT max(id) FROM overrides WHERE batch_id = i.batch_id AND idx = i.idx AND stage = 'own'
                 GROUP BY reviewer)) AS words,
       (SELECT array_agg(o.reviewer || '=' || (o.value #>> '{}') ORDER BY o.id DESC) FROM overrides o
        WHERE o.batch_id = i.batch_id AND o.idx = i.idx AND o.stage = 'own' AND o.value IS NOT NULL AND o.settles
        AND NOT EXISTS (SELECT FROM overrides later WHERE later.batch_id = o.batch_id AND later.idx = o.idx
                        AND later.stage = 'own' AND later.reviewer = o.reviewer AND later.id > o.id)) AS settling,
       (SELECT count(*) FROM (SELECT DISTINCT ON (reviewer) value FROM overrides WHERE batch_id = i.batch_id
        AND idx = i.idx AND stage = 'own' ORDER BY reviewer, id DESC) last WHERE value IS NOT NULL) AS people
FROM item_states i
LEFT JOIN exclusions e ON e.batch_id = i.batch_id AND e.idx = i.idx
LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
WHERE i.batch_id = :id ORDER BY i.idx
"""
YES, NO = ("include", "true"), ("exclude", "false")


@dataclass
class Reckoned:
    """One record, by plain reading of the tables."""

    software: str
    final: str
    by_human: bool = False
    settler: str | None = None
    word: str | None = None  # people's decision that counts


def reckoned(connection: Connection, batch_id: UUID) -> list[Reckoned]:
    """Each record of a batch, in order."""
    found = []
    for row in connection.execute(text(TABLES), {"id": batch_id}):
        kept = {"duplicate": "duplicate", None: "removed"}.get(row.rule, "ineligible")
        of_model = "passed" if row.model in YES else "excluded" if row.model in NO else "uncertain"
        states = {"decided": of_model, "excluded_by_filter": kept, "failed": "failed", "cancelled": "cancelled"}
        software = states.get(row.state, "open")
        settler, word = row.settling[0].split("=") if row.settling else (None, None)
        if word is None and row.words:
            word = row.words[0] if len(row.words) == 1 else "conflict"
        final = software if word is None else "conflict" if word == "conflict" else "uncertain"
        if word in YES:
            final = "passed"
        if word in NO:
            final = kept if row.state == "excluded_by_filter" else "excluded"
        alone = row.people == 1
        found.append(Reckoned(software, final, word in (*YES, *NO), None if alone else settler, word))
    return found


def numbers(words: str, told: str) -> list[int]:
    """The numbers of the only sentence like this; [] without one. `#`: a number of records; `@`: a number."""
    match = re.search(words.replace("#", r"(no|[\d,]+) records? ?(?:was|were)?").replace("@", r"([\d,]+)"), told)
    return [] if match is None else [0 if n == "no" else int(n.replace(",", "")) for n in match.groups()]

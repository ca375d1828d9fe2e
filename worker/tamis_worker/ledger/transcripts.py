"""Transcripts in the ledger: written with what a claim ended with, and read by nobody here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from .claims import Claim

MOST_KNOWN = 4_096  # texts that a process knows to be in the ledger; more are offered again, which changes nothing


@dataclass(frozen=True)
class CallsOfClaim:
    """The calls that were made for one claim, as `tamis_schemas.answers.transcript` has it."""

    calls: Sequence[Mapping[str, Any]]
    prompts: Mapping[str, str] = field(default_factory=dict)  # by sha256: the texts that the calls name by it


@dataclass(frozen=True)
class TranscribedClaim:
    """A claim with its transcript."""

    claim: Claim
    transcript: CallsOfClaim


class KnownPrompts:
    """The common texts of batches that are committed, as far as this process knows: they need not be sent again."""

    def __init__(self) -> None:
        self._known: dict[tuple[UUID, str], None] = {}

    def new(self, claims: Iterable[TranscribedClaim]) -> dict[tuple[UUID, str], str]:
        """The texts of these claims that may not be in the ledger yet, in one order for all workers."""
        new = {
            (one.claim.key.batch_id, sha256): text
            for one in claims
            for sha256, text in one.transcript.prompts.items()
            if (one.claim.key.batch_id, sha256) not in self._known
        }
        return dict(sorted(new.items()))

    def committed(self, texts: Iterable[tuple[UUID, str]], batches: Iterable[UUID]) -> None:
        """Note that texts were committed, of those batches at least of which an outcome was accepted."""
        accepted = set(batches)
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._known.update((key, None) for key in texts if key[0] in accepted)


def transcript_rows(claims: Sequence[TranscribedClaim]) -> str:
    """Claims and their calls as JSON for a statement."""
    rows = [one.claim.columns | {"calls": one.transcript.calls} for one in claims]
    return json.dumps(rows, ensure_ascii=False)


def prompt_rows(texts: Mapping[tuple[UUID, str], str]) -> str:
    """Common texts as JSON for a statement."""
    rows = [{"batch_id": str(batch_id), "sha256": sha256, "text": text} for (batch_id, sha256), text in texts.items()]
    return json.dumps(rows, ensure_ascii=False)

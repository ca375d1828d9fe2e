"""What is hidden while people read blind: pure rules over who has decided on a record.

Where the model is audited, the audit says what is hidden: `screening_mode.hidden_from`.
"""

from collections.abc import Collection

from tamis_schemas import ScreeningMode

READERS = 2  # people of an independent pair


def is_hidden(mode: ScreeningMode, decided: Collection[str], me: str, *, kept_out: bool = False) -> bool:
    """Return whether the decisions on a record, people's and the model's, are hidden from a reviewer.

    Args:
        mode: the screening mode of the batch.
        decided: the names of those whose decision on the record stands, in the stage of the batch itself.
        me: the reviewer's name.
        kept_out: a rule took the record out before anybody read it (a copy, the initial filter): nobody is to decide on
            it, so it is hidden only once somebody has.
    """
    if not mode.blind or (kept_out and not decided):
        return False
    if mode is ScreeningMode.PAIR:
        return len(set(decided)) < READERS
    return me not in decided

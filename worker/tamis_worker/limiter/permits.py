"""The permits that one process holds: rights to begin a call, each from its due time on, and the tokens for them.

Pure: times are seconds of one clock that never goes back.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from .gcra import GRACE

LEAD = 0.02  # seconds; more permits are asked for so long before the last one is due


@dataclass(frozen=True, slots=True)
class _GrantedPermit:
    due: float
    tokens: int


class Permits:
    """Permits are used in their order; the tokens of those that are due are one balance, whichever call needs them."""

    def __init__(self) -> None:
        self._upcoming: deque[_GrantedPermit] = deque()  # the earliest first
        self._due_permits: deque[float] = deque()  # since when they are due
        self._upcoming_tokens = 0
        self.token_balance = 0  # of permits that are due, or were never used

    def __len__(self) -> int:
        return len(self._due_permits) + len(self._upcoming)

    @property
    def tokens(self) -> int:
        """Tokens of all permits, with what earlier ones have left over."""
        return self.token_balance + self._upcoming_tokens

    @property
    def next_due(self) -> float | None:
        """When the next permit is due that is not due yet."""
        return self._upcoming[0].due if self._upcoming else None

    def last_until(self, head: int) -> float:
        """Until when they serve those who wait, of whom the next one needs `head` tokens."""
        if not self._upcoming or self.tokens < head:
            return -math.inf
        return self._upcoming[-1].due - LEAD

    def grant(self, due_times: Iterable[float], first: int, each: int) -> None:
        """Take new permits over; the first has `first` tokens, every other `each`."""
        known, tokens = len(self._upcoming), first
        for due in due_times:
            self._upcoming.append(_GrantedPermit(due, tokens))
            self._upcoming_tokens += tokens
            tokens = each
        if len(self._upcoming) > known > 0:  # tokens that came back meanwhile may have made room before those of old
            self._upcoming = deque(sorted(self._upcoming, key=attrgetter("due")))

    def use(self, estimate: int, now: float) -> bool:
        """Use a permit that is due and so many tokens, if there are."""
        self.mature(now)
        if not self._due_permits or self.token_balance < estimate:
            return False
        self._due_permits.popleft()
        self.token_balance -= estimate
        return True

    def mature(self, now: float) -> None:
        """Permits become due, and void `GRACE` later; their tokens stay."""
        upcoming, due_permits = self._upcoming, self._due_permits
        while upcoming and upcoming[0].due <= now:
            permit = upcoming.popleft()
            self.token_balance += permit.tokens
            self._upcoming_tokens -= permit.tokens
            due_permits.append(permit.due)
        while due_permits and due_permits[0] + GRACE < now:
            due_permits.popleft()

    def void(self) -> None:
        """All permits are void; their tokens stay."""
        self.token_balance += self._upcoming_tokens
        self._upcoming_tokens = 0
        self._upcoming.clear()
        self._due_permits.clear()

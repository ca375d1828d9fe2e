"""What one process holds of the shared limit, uses and wants: slots, permits and tokens.

Pure: it knows neither Redis nor the loop, and time is an argument, in seconds of one clock that never goes back. The
limiter asks it whether a call may begin (`take`), tells it when one has ended (`give`), when to speak to Redis
(`request_at`), what to say (`next_request`) and what was replied (`apply_reply`).

A slot stays with the process from call to call, so that a call that follows another costs no round trip; those that
were not needed for a while are given back. Permits are taken ahead for those who wait. Nothing that was granted is used
when Redis was not heard for longer than `FRESH`.

A permit is the right to begin a call from its due time on, with tokens for it.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from .gcra import AHEAD, GRACE
from .rate_headers import RateHeaders
from .script import LimiterReply, LimiterRequest, Limits, ObservedLimits, SharedLimit, SharedLimitState

# All times are in seconds.
GATHER = 0.01  # between two requests; what happens meanwhile goes into one
FIRST_POLL, LAST_POLL = 0.05, 0.25  # while others hold the slots that we wait for: nobody tells us when they let go
PROMPT = 0.1  # a reply that took longer waited for us: due times are not moved by that
REST = 1.0  # what was not needed for so long is given back
FRESH = AHEAD + GRACE
STEADY = 4.0  # calls a second from which on permits are taken ahead of demand

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


@dataclass(frozen=True, slots=True)
class Demand:
    """The calls that wait in a process."""

    waiting: int = 0
    head: int = 0  # tokens that the next one needs
    mean: int = 0  # tokens, of all
    weight: int = 1  # of their batches


NO_DEMAND = Demand()


class LocalAllotment:
    """One process's part of one limit. `lease` is how long Redis keeps it while the process is silent."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self.slots = 0
        self.in_flight = 0  # calls
        self._keep: int | None = None  # slots that may be used again
        self._contended = False
        self.concurrency = 0  # calls in flight that all processes may have together; 0: nothing was replied yet
        self._paced = True
        self._permits = Permits()
        self._shared = SharedLimitState()  # as last replied

        # To be sent with the next request.
        self._settle = 0
        self._unpaced_requests = 0
        self._unpaced_tokens = 0
        self._succeeded = 0
        self._congested = False
        self._observed = ObservedLimits()
        self._dirty = False  # others should know of it soon

        self._sent_at = self._replied_at = -math.inf
        self._fresh_until = -math.inf
        self._blocked_until = -math.inf
        self._own_blocked_until = -math.inf  # sent with every request, so that it survives a wipe
        self._permits_at = -math.inf  # when asking for permits makes sense
        self._slots_at = -math.inf
        self._poll = FIRST_POLL
        self._least_idle = 0
        self._rested_at = -math.inf
        self._ended = self._begun = 0
        self._ends = self._begins = 0.0  # per second, lately

    # Calls

    def take(self, estimate: int, now: float) -> bool:
        """Begin a call of about so many tokens, if it may begin now."""
        if self.in_flight >= self.slots or self._halted(now):
            return False
        if self._paced:
            if not self._permits.use(estimate, now):
                return False
        else:
            self._unpaced_requests += 1
            self._unpaced_tokens += estimate
        self.in_flight += 1
        self._begun += 1
        self._least_idle = min(self._least_idle, self.slots - self.in_flight)
        return True

    def give(self, estimate: int, used: int | None) -> None:
        """End a call; `used` is None where nobody knows what it used, or it failed."""
        self.in_flight -= 1
        self._ended += 1
        if used is not None:
            self._settle += used - estimate
            self._succeeded += 1
        if self._keep is not None and self.slots > self._keep:
            self.slots -= 1
            self._dirty = True

    def void(self, estimate: int) -> None:
        """Take back a call that did not begin after all: its slot is free again, and its tokens are given back."""
        self.in_flight -= 1
        self._settle -= estimate

    # What the endpoint reports

    def observe(self, rate: RateHeaders, age: float) -> None:
        """Take the headers of an answer into account whose call began `age` ago.

        Costs next to nothing where they say what is known.
        """
        shared = self._shared
        self._observed.note(rate, age, shared.requests, shared.tokens)
        if self._observed.has_new_limit:
            self._paced = True  # whatever it was: from now on only with permits
            self._dirty = self._dirty or self._observed.lowers(shared.requests, shared.tokens)

    def congested(self) -> None:
        """Note that the endpoint has too much. Nothing begins here until Redis knows."""
        self._congested = True
        self._dirty = True

    def block(self, until: float) -> None:
        """Let nothing begin before `until`. Never shortens a block."""
        self._own_blocked_until = max(self._own_blocked_until, until)
        self._blocked_until = max(self._blocked_until, until)
        self._dirty = True

    def blocked(self, now: float) -> float:
        """Seconds for which nobody may begin anything."""
        return max(0.0, self._blocked_until - now)

    def own_block(self, now: float) -> float:
        """Seconds that this process has asked nobody to begin anything."""
        return max(0.0, self._own_blocked_until - now)

    @property
    def requests(self) -> SharedLimit:
        """The state of the limit on requests that all processes share, as last replied."""
        return self._shared.requests

    # When to speak to Redis

    def mark_dirty(self) -> None:
        """Have the next request sent soon: there is something that others should know."""
        self._dirty = True

    def next_permit(self, now: float) -> float | None:
        """When the next permit is due that a call could use; None: it would have to wait for something else as well."""
        if self.in_flight >= self.slots or self._halted(now):
            return None
        return self._permits.next_due

    def _halted(self, now: float) -> bool:
        """Whether nothing may begin before Redis has replied again."""
        return self._congested or now >= self._fresh_until or now < self._blocked_until

    def request_at(self, now: float, demand: Demand) -> float:
        """When to send the next request, if nothing else happens."""
        if self._dirty:
            return self._sent_at + GATHER
        soonest = self._sent_at + self._lease / 3
        idle = self.slots - self.in_flight
        if demand.waiting:
            if now < self._blocked_until:
                soonest = min(soonest, self._blocked_until)
            else:
                soonest = min(soonest, self._needed_at(now, idle, demand.head))
        if self._contended:
            soonest = min(soonest, self._sent_at + (GATHER if idle > 0 and not demand.waiting else LAST_POLL))
        if self._begun > 1 and not self._paced:  # else the next call finds what is held no longer fresh, and waits
            soonest = min(soonest, self._sent_at + AHEAD)
        elif self._settle or self._succeeded or self._permits.token_balance or idle > 0:
            soonest = min(soonest, self._sent_at + REST)
        return max(soonest, self._sent_at + GATHER)

    def _needed_at(self, now: float, idle: int, head: int) -> float:
        """When to ask for more, for those who wait."""
        permits = max(self._permits_at, self._permits.last_until(head)) if self._paced else -math.inf
        if idle > 0:
            return permits if self._paced or now >= self._fresh_until else math.inf
        if self.concurrency and self.slots >= self.concurrency:
            return math.inf  # before one of our own calls ends
        return self._slots_at if self._permits else max(self._slots_at, permits)

    # Requests and replies

    def next_request(self, name: str, now: float, demand: Demand, limits: Limits) -> LimiterRequest:
        """What to report and to ask now. It is said once: it must arrive, see `request_lost`."""
        permits = self._permits
        permits.mature(now)
        if now < self._blocked_until:
            permits.void()
        self._measure(now)
        self._let_go(now, demand)
        idle = self.slots - self.in_flight
        stock = len(permits)
        ask = first = 0
        if permits.last_until(demand.head) <= now:
            short = demand.head - permits.tokens
            ask = max(demand.waiting - stock, 1 if short > 0 else 0)
            first = max(demand.mean, short)
        if not stock:
            # Tokens of permits that were never used; what the next one needs is kept for it.
            spare = permits.token_balance - (demand.head if demand.waiting else 0)
            if spare > 0:
                self._settle -= spare
                permits.token_balance -= spare
            first = max(0, demand.head - permits.token_balance) if demand.waiting else 0
        turn = math.ceil(self._ends * AHEAD)
        steady = self._begins >= STEADY and stock + ask <= demand.waiting
        request = LimiterRequest(
            name=name,
            lease=self._lease,
            slots=self.slots,
            want=max(0, min(demand.waiting, limits.concurrency) - idle),
            weight=max(1, demand.weight),
            ask=ask,
            first=first,
            each=demand.mean,
            extra=math.ceil(self._begins * GRACE) if steady else 0,
            room=max(0, idle + turn - stock),
            lack=stock - idle,
            settle=self._settle,
            unpaced_requests=self._unpaced_requests,
            unpaced_tokens=self._unpaced_tokens,
            succeeded=self._succeeded,
            congested=self._congested,
            reports=self._observed.take_reports(now, self._shared.requests, self._shared.tokens),
        )
        self._settle = self._unpaced_requests = self._unpaced_tokens = self._succeeded = 0
        self._dirty = False
        self._sent_at = now
        return request

    def request_lost(self, request: LimiterRequest) -> None:
        """Say again what may not have arrived. To owe twice is safe, to be given back twice is not."""
        self._settle += max(0, request.settle)
        self._congested = self._congested or request.congested
        self._dirty = True

    def apply_reply(self, request: LimiterRequest, reply: LimiterReply, asked_at: float, now: float) -> None:
        """Take over what was granted: `asked_at` and `now` are when that try was made, and when its reply came."""
        self.slots += reply.more
        self._keep = reply.keep
        self._contended = reply.contended
        self.concurrency = reply.concurrency
        self._paced = reply.paced or self._observed.has_new_limit
        self._shared = reply.shared
        self._congested = self._congested and not request.congested
        self._replied_at = now
        self._fresh_until = asked_at + FRESH
        if reply.blocked > 0:
            self._blocked_until = max(self._blocked_until, now + reply.blocked)
        elif now >= self._own_blocked_until:
            self._blocked_until = -math.inf
        since = min(now, asked_at + PROMPT)
        self._permits.grant((since + delay for delay in reply.delays), request.first, request.each)
        if self._keep is not None and self.slots > self._keep:
            # A slot whose permit is not due yet is used once: two who take it from each other would never use it.
            spoken_for = self.in_flight + min(self.slots - self.in_flight, len(self._permits))
            left = max(self._keep, spoken_for)
            self._dirty = self._dirty or left < self.slots
            self.slots = min(self.slots, left)
        if reply.delays:
            self._permits_at = -math.inf
        elif request.ask:
            self._permits_at = now + (self._poll if reply.wait is None else reply.wait)
        if reply.more or self.in_flight < self.slots:
            self._poll = FIRST_POLL
            self._slots_at = -math.inf
        else:
            self._slots_at = now + self._poll
            self._poll = min(2 * self._poll, LAST_POLL)

    def shared_state(self, now: float) -> SharedLimitState:
        """What all shared when Redis last replied, as it is now, for a server that has forgotten it."""
        shared, since = self._shared, now - self._replied_at
        if not shared.epoch:
            return shared
        requests, tokens = (
            replace(limit, lead=max(0.0, limit.lead - since)) for limit in (shared.requests, shared.tokens)
        )
        return replace(shared, requests=requests, tokens=tokens)

    def release_all(self, name: str) -> LimiterRequest:
        """The last request: everything is given back."""
        self._permits.void()
        return LimiterRequest(name=name, lease=0.0, settle=self._settle - self._permits.token_balance)

    def _measure(self, now: float) -> None:
        """Measure how many calls begin and end per second; earlier ones are forgotten within about a second."""
        since = min(10.0, now - self._sent_at)
        kept = math.exp(-since)
        self._ends = kept * self._ends + (1 - kept) * self._ended / max(since, GATHER)
        self._begins = kept * self._begins + (1 - kept) * self._begun / max(since, GATHER)
        self._ended = self._begun = 0

    def _let_go(self, now: float, demand: Demand) -> None:
        """Give slots back that nobody needs: at once where others wait for them, else what rested for a while."""
        idle = self.slots - self.in_flight
        if self._contended:
            self.slots -= max(0, idle - demand.waiting)
        elif now >= self._rested_at + REST:
            self.slots -= max(0, min(self._least_idle, idle - demand.waiting))
        else:
            return
        self._rested_at = now
        self._least_idle = self.slots - self.in_flight

"""The share of one process in the shared limit: slots, permits and tokens.

A slot is the right to have a call in flight. A permit is the right to begin a call from the permit's due time on, with
tokens for the call.

The module does no I/O. Time is an argument, in seconds of a monotonic clock. `take` begins a call if possible, and
`give` ends the call. `request_at` returns the time of the next request to Redis, `next_request` builds the request, and
`apply_reply` applies the reply.

A slot passes from one call to the next without a request to Redis. The process releases slots that were unused for
`REST` seconds. The process requests permits in advance. If Redis has not replied for longer than `FRESH`, slots and
permits are not used.
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
GATHER = 0.01  # between two requests; all events of that time go into one request
BLOCKED_POLL = 2.0  # while calls wait for the end of a block: a person may lift it
FIRST_POLL, LAST_POLL = 0.05, 0.25  # while other processes hold the wanted slots: their release is not announced
PROMPT = 0.1  # a slower reply has waited in this process: its due times count from this time after the request
REST = 1.0  # slots and tokens unused for so long are returned
FRESH = AHEAD + GRACE
STEADY = 4.0  # calls a second; above it, permits are requested ahead of demand

LEAD = 0.02  # seconds before the last permit is due when more are requested


@dataclass(frozen=True, slots=True)
class _GrantedPermit:
    due: float
    tokens: int


class Permits:
    """The permits of a process. A permit is the right to begin one call, at the permit's due time or later.

    The tokens of all due permits are added up, and any call may use them.
    """

    def __init__(self) -> None:
        self._upcoming: deque[_GrantedPermit] = deque()  # the earliest first
        self._due_permits: deque[float] = deque()  # their due times
        self._upcoming_tokens = 0
        self.token_balance = 0  # of permits that are due, or were never used

    def __len__(self) -> int:
        return len(self._due_permits) + len(self._upcoming)

    @property
    def tokens(self) -> int:
        """The tokens of the permits that the process has, plus tokens that earlier permits left unused."""
        return self.token_balance + self._upcoming_tokens

    @property
    def next_due(self) -> float | None:
        """The due time of the next permit that is not due yet; None if there is no such permit."""
        return self._upcoming[0].due if self._upcoming else None

    def last_until(self, head: int) -> float:
        """Return the time when more permits must be requested.

        The time is -inf (at once) if no further permit will become due, or the next call, of `head` tokens, lacks
        tokens.
        """
        if not self._upcoming or self.tokens < head:
            return -math.inf
        return self._upcoming[-1].due - LEAD

    def grant(self, due_times: Iterable[float], first: int, each: int) -> None:
        """Add permits with these due times: the first with `first` tokens, all later permits with `each` tokens."""
        before, tokens = len(self._upcoming), first
        for due in due_times:
            self._upcoming.append(_GrantedPermit(due, tokens))
            self._upcoming_tokens += tokens
            tokens = each
        if len(self._upcoming) > before > 0:  # after a return of tokens, new permits may be due before older permits
            self._upcoming = deque(sorted(self._upcoming, key=attrgetter("due")))

    def use(self, estimate: int, now: float) -> bool:
        """Use a due permit and `estimate` tokens. Return False if the permit or the tokens are missing."""
        self.mature(now)
        if not self._due_permits or self.token_balance < estimate:
            return False
        self._due_permits.popleft()
        self.token_balance -= estimate
        return True

    def mature(self, now: float) -> None:
        """Make the permits usable that are due at the time `now`, with their tokens.

        Drop the permits that were due more than `GRACE` seconds ago. Their tokens stay available.
        """
        upcoming, due_permits = self._upcoming, self._due_permits
        while upcoming and upcoming[0].due <= now:
            permit = upcoming.popleft()
            self.token_balance += permit.tokens
            self._upcoming_tokens -= permit.tokens
            due_permits.append(permit.due)
        while due_permits and due_permits[0] + GRACE < now:
            due_permits.popleft()

    def void(self) -> None:
        """Drop all permits, but keep their tokens available."""
        self.token_balance += self._upcoming_tokens
        self._upcoming_tokens = 0
        self._upcoming.clear()
        self._due_permits.clear()


@dataclass(frozen=True, slots=True)
class Demand:
    """The calls that wait in a process."""

    waiting: int = 0  # number of calls
    head: int = 0  # tokens that the next call needs
    mean: int = 0  # average tokens of a call
    weight: int = 1  # sum of the weights of the batches of these calls


NO_DEMAND = Demand()


class LocalAllotment:
    """The share of one process in one limit: its slots, permits and tokens.

    Redis takes the share back if the process sends no request for `lease` seconds.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self.slots = 0
        self.in_flight = 0  # calls
        self._keep: int | None = None  # slots that may be used again
        self._contended = False
        self.concurrency = 0  # calls in flight that all processes may have together; 0: no reply yet
        self._paced = True
        self._permits = Permits()
        self._shared = SharedLimitState()  # from the last reply

        # For the next request.
        self._settle = 0
        self._unpaced_requests = 0
        self._unpaced_tokens = 0
        self._succeeded = 0
        self._congested = False
        self._observed = ObservedLimits()
        self._dirty = False  # other processes should know soon

        self._sent_at = self._replied_at = -math.inf
        self._fresh_until = -math.inf
        self._blocked_until = -math.inf
        self._own_blocked_until = -math.inf  # sent with every request, so that it survives a wipe of Redis
        self._permits_at = -math.inf  # when to request permits again
        self._slots_at = -math.inf
        self._poll = FIRST_POLL
        self._least_idle = 0
        self._rested_at = -math.inf
        self._ended = self._begun = 0
        self._ends = self._begins = 0.0  # per second, recently

    # Calls

    def take(self, estimate: int, now: float) -> bool:
        """Begin a call of about `estimate` tokens. Return False if the call may not begin now."""
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
        """End a call. `used`: its tokens; None: it failed, or its tokens are unknown. `estimate`: as for `take`."""
        self.in_flight -= 1
        self._ended += 1
        if used is not None:
            self._settle += used - estimate
            self._succeeded += 1
        if self._keep is not None and self.slots > self._keep:
            self.slots -= 1
            self._dirty = True

    def void(self, estimate: int) -> None:
        """Undo `take` for a call that did not begin: free its slot and return its tokens."""
        self.in_flight -= 1
        self._settle -= estimate

    # Reports of the endpoint

    def observe(self, rate: RateHeaders, age: float) -> None:
        """Apply the rate headers of an answer whose call began `age` seconds ago.

        If the headers contain no new limit, this method costs almost no time.
        """
        shared = self._shared
        self._observed.note(rate, age, shared.requests, shared.tokens)
        if self._observed.has_new_limit:
            self._paced = True  # from now on every call needs a permit
            self._dirty = self._dirty or self._observed.lowers(shared.requests, shared.tokens)

    def congested(self) -> None:
        """Record that the endpoint is overloaded. No call begins in this process until Redis replies."""
        self._congested = True
        self._dirty = True

    def block(self, until: float) -> None:
        """Block all calls until the time `until`. An existing block is never shortened."""
        self._own_blocked_until = max(self._own_blocked_until, until)
        self._blocked_until = max(self._blocked_until, until)
        self._dirty = True

    def blocked(self, now: float) -> float:
        """Return the remaining seconds of the present block; 0 if there is no block."""
        return max(0.0, self._blocked_until - now)

    def own_block(self, now: float) -> float:
        """Return the remaining seconds of the block that this process requested."""
        return max(0.0, self._own_blocked_until - now)

    @property
    def requests(self) -> SharedLimit:
        """The shared limit on requests, from the last reply."""
        return self._shared.requests

    # When to send the next request

    def mark_dirty(self) -> None:
        """Make the next request due soon, so that other processes learn of the change."""
        self._dirty = True

    def next_permit(self, now: float) -> float | None:
        """Return the time when the next permit becomes due.

        None: no further permit is known, all slots are in use, or no call may begin at present.
        """
        if self.in_flight >= self.slots or self._halted(now):
            return None
        return self._permits.next_due

    def _halted(self, now: float) -> bool:
        """Return True if no call may begin: because of overload, a block, or a last reply of Redis that is too old."""
        return self._congested or now >= self._fresh_until or now < self._blocked_until

    def request_at(self, now: float, demand: Demand) -> float:
        """Return the time of the next request to Redis. A later event may make the request due earlier."""
        if self._dirty:
            return self._sent_at + GATHER
        soonest = self._sent_at + self._lease / 3
        idle = self.slots - self.in_flight
        if demand.waiting:
            if now < self._blocked_until:
                soonest = min(soonest, self._blocked_until, self._sent_at + BLOCKED_POLL)
            else:
                soonest = min(soonest, self._needed_at(now, idle, demand.head))
        if self._contended:
            soonest = min(soonest, self._sent_at + (GATHER if idle > 0 and not demand.waiting else LAST_POLL))
        if self._begun > 1 and not self._paced:  # else the grants expire, and the next call waits
            soonest = min(soonest, self._sent_at + AHEAD)
        elif self._settle or self._succeeded or self._permits.token_balance or idle > 0:
            soonest = min(soonest, self._sent_at + REST)
        return max(soonest, self._sent_at + GATHER)

    def _needed_at(self, now: float, idle: int, head: int) -> float:
        """Return the time to request slots or permits for the waiting calls; inf if a request would not help them."""
        permits = max(self._permits_at, self._permits.last_until(head)) if self._paced else -math.inf
        if idle > 0:
            return permits if self._paced or now >= self._fresh_until else math.inf
        if self.concurrency and self.slots >= self.concurrency:
            return math.inf  # wait for the end of a call here
        return self._slots_at if self._permits else max(self._slots_at, permits)

    # Requests and replies

    def next_request(self, name: str, now: float, demand: Demand, limits: Limits) -> LimiterRequest:
        """Build the next request, with all events since the last request. If no reply comes, call `request_lost`."""
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
            # The tokens of unused permits are returned, except those for the next call.
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
        """Repeat in the next request the overload and the additional used tokens that a lost request reported.

        Returned tokens are not repeated: if Redis counted them twice, it would allow too many calls.
        """
        self._settle += max(0, request.settle)
        self._congested = self._congested or request.congested
        self._dirty = True

    def apply_reply(self, request: LimiterRequest, reply: LimiterReply, asked_at: float, now: float) -> None:
        """Update the allotment from Redis's reply, which arrived at `now`. `request` was last sent at `asked_at`."""
        self.slots += reply.more
        self._keep = reply.keep
        self._contended = reply.contended
        self.concurrency = reply.concurrency
        self._paced = reply.paced or self._observed.has_new_limit
        if reply.shared.lifted > self._shared.lifted:
            self._own_blocked_until = self._blocked_until = -math.inf
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
            # Keep a slot until its permit is due. Otherwise two processes could keep exchanging it, and neither would
            # use it.
            needed = self.in_flight + min(self.slots - self.in_flight, len(self._permits))
            left = max(self._keep, needed)
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
        """Return the shared state at the time `now`, computed from the last reply.

        A Redis that has lost its data continues from this state.
        """
        shared, since = self._shared, now - self._replied_at
        if not shared.epoch:
            return shared
        requests, tokens = (
            replace(limit, lead=max(0.0, limit.lead - since)) for limit in (shared.requests, shared.tokens)
        )
        return replace(shared, requests=requests, tokens=tokens)

    def release_all(self, name: str) -> LimiterRequest:
        """Build the last request, which releases all slots and unused tokens."""
        self._permits.void()
        return LimiterRequest(name=name, lease=0.0, settle=self._settle - self._permits.token_balance)

    def _measure(self, now: float) -> None:
        """Measure how many calls begin and end per second, as an average over about a second."""
        since = min(10.0, now - self._sent_at)
        kept = math.exp(-since)
        self._ends = kept * self._ends + (1 - kept) * self._ended / max(since, GATHER)
        self._begins = kept * self._begins + (1 - kept) * self._begun / max(since, GATHER)
        self._ended = self._begun = 0

    def _let_go(self, now: float, demand: Demand) -> None:
        """Release unneeded slots: at once if other processes wait for slots, else after `REST` seconds without use."""
        idle = self.slots - self.in_flight
        if self._contended:
            self.slots -= max(0, idle - demand.waiting)
        elif now >= self._rested_at + REST:
            self.slots -= max(0, min(self._least_idle, idle - demand.waiting))
        else:
            return
        self._rested_at = now
        self._least_idle = self.slots - self.in_flight

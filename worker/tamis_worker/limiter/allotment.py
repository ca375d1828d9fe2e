"""What one process holds of the shared limit, uses and wants: slots, permits with their appointments, and tokens.

Pure: it knows neither Redis nor the loop, and time is an argument, in seconds of one clock that never goes back. The
limiter asks it whether a call may begin (`take`), tells it when one has ended (`give`), when to speak to Redis (`due`),
what to say (`call`) and what was answered (`answered`).

A slot stays with the process from call to call, so that a call that follows another costs no round trip; those that
were not needed for a while are given back. Permits are taken ahead for those who wait. Nothing that was granted is used
when Redis was not heard for longer than `FRESH`.
"""

import math
from collections import deque
from dataclasses import dataclass, replace

from .gcra import AHEAD, GRACE
from .observed_limits import ObservedLimits
from .rate_headers import RateHeaders
from .script import LimiterReply, LimiterRequest, Limits, SharedLimit, SharedLimitState

# All times are in seconds.
GATHER = 0.01  # between two calls of the script; what happens meanwhile goes into one
FIRST_POLL, LAST_POLL = 0.05, 0.25  # while others hold the slots that we wait for: nobody tells us when they let go
LEAD = 0.02  # ask for more permits so long before the last one is due
PROMPT = 0.1  # an answer that took longer waited for us: its appointments are not moved by that
REST = 1.0  # what was not needed for so long is given back
FRESH = AHEAD + GRACE
STEADY = 4.0  # calls a second from which on permits are taken ahead of demand


@dataclass(frozen=True, slots=True)
class Demand:
    """Who waits in a process."""

    waiting: int = 0
    head: int = 0  # tokens that the next one needs
    mean: int = 0  # tokens, of all
    weight: int = 1  # of their batches


@dataclass(frozen=True, slots=True)
class _Permit:
    due: float
    tokens: int


NO_DEMAND = Demand()


class LocalAllotment:
    """Of one process, for one limit. `lease` is how long Redis keeps what it holds while it is silent."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self.slots = 0
        self.out = 0  # calls in flight
        self._keep: int | None = None  # slots that may be used again
        self._contended = False
        self._concurrency = 0
        self._paced = True
        self._ahead: deque[_Permit] = deque()  # not due yet, the earliest first
        self._ripe: deque[float] = deque()  # when they became due
        self._coming = 0  # tokens of permits that are not due yet
        self._purse = 0  # tokens of permits that are ripe, or were never used
        self._memory = SharedLimitState()

        # To be told.
        self._settle = 0
        self._unpaced_requests = 0
        self._unpaced_tokens = 0
        self._succeeded = 0
        self._cut = False
        self._hearing = ObservedLimits()
        self._news = False

        self._sent_at = self._answered_at = -math.inf
        self._fresh_until = -math.inf
        self._blocked_until = -math.inf
        self._own_blocked_until = -math.inf  # told with every call, so that it survives a wipe
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
        if self.out >= self.slots or self._halted(now):
            return False
        if self._paced:
            self._ripen(now)
            if not self._ripe or self._purse < estimate:
                return False
            self._ripe.popleft()
            self._purse -= estimate
        else:
            self._unpaced_requests += 1
            self._unpaced_tokens += estimate
        self.out += 1
        self._begun += 1
        self._least_idle = min(self._least_idle, self.slots - self.out)
        return True

    def give(self, estimate: int, used: int | None) -> None:
        """A call has ended; None: nobody knows what it used, or it failed."""
        self.out -= 1
        self._ended += 1
        if used is not None:
            self._settle += used - estimate
            self._succeeded += 1
        if self._keep is not None and self.slots > self._keep:
            self.slots -= 1
            self._news = True

    def void(self, estimate: int) -> None:
        """A call that was to begin did not: its slot is free again, and its tokens are given back."""
        self.out -= 1
        self._settle -= estimate

    # What the endpoint says

    def heard(self, rate: RateHeaders, age: float) -> None:
        """Take the headers of an answer into account whose call began `age` ago.

        Costs next to nothing where they say what is known.
        """
        known = self._memory
        self._hearing.note(rate, age, known.requests, known.tokens)
        if self._hearing.of_limits:
            self._paced = True  # whatever it was: from now on only with permits
            self._news = self._news or self._hearing.lowers(known.requests, known.tokens)

    def congested(self) -> None:
        """The endpoint has too much. Nothing begins here until Redis knows."""
        self._cut = True
        self._news = True

    def block(self, until: float) -> None:
        """Nothing begins before `until`. Never shortens a block."""
        self._own_blocked_until = max(self._own_blocked_until, until)
        self._blocked_until = max(self._blocked_until, until)
        self._news = True

    def blocked(self, now: float) -> float:
        """Seconds for which nobody may begin anything."""
        return max(0.0, self._blocked_until - now)

    def own_block(self, now: float) -> float:
        """Seconds that this process has asked nobody to begin anything."""
        return max(0.0, self._own_blocked_until - now)

    @property
    def concurrency(self) -> int:
        """Calls in flight that all processes may have together, as last heard; 0: not heard yet."""
        return self._concurrency

    @property
    def requests(self) -> SharedLimit:
        """What all processes know of the limit on requests, as last heard."""
        return self._memory.requests

    # When to speak to Redis

    def tell(self) -> None:
        """There is something that others should know soon."""
        self._news = True

    def next_permit(self, now: float) -> float | None:
        """When the next permit is due that a call could use; None: it would have to wait for something else as well."""
        if not self._ahead or self.out >= self.slots or self._halted(now):
            return None
        return self._ahead[0].due

    def _halted(self, now: float) -> bool:
        """Whether nothing may begin before Redis is heard again."""
        return self._cut or now >= self._fresh_until or now < self._blocked_until

    def due(self, now: float, demand: Demand) -> float:
        """When to call the script next, if nothing else happens."""
        if self._news:
            return self._sent_at + GATHER
        soonest = self._sent_at + self._lease / 3
        idle = self.slots - self.out
        if demand.waiting:
            if now < self._blocked_until:
                soonest = min(soonest, self._blocked_until)
            else:
                soonest = min(soonest, self._needed_at(now, idle, demand.head))
        if self._contended:
            soonest = min(soonest, self._sent_at + (GATHER if idle > 0 and not demand.waiting else LAST_POLL))
        if self._begun > 1 and not self._paced:  # else the next call finds what is held no longer fresh, and waits
            soonest = min(soonest, self._sent_at + AHEAD)
        elif self._settle or self._succeeded or self._purse or idle > 0:
            soonest = min(soonest, self._sent_at + REST)
        return max(soonest, self._sent_at + GATHER)

    def _needed_at(self, now: float, idle: int, head: int) -> float:
        """When to ask for those who wait."""
        permits = max(self._permits_at, self._permits_last(head)) if self._paced else -math.inf
        if idle > 0:
            return permits if self._paced or now >= self._fresh_until else math.inf
        if self._concurrency and self.slots >= self._concurrency:
            return math.inf  # before one of our own calls ends
        return self._slots_at if self._ahead or self._ripe else max(self._slots_at, permits)

    def _permits_last(self, head: int) -> float:
        """Until when the permits in hand serve those who wait."""
        if not self._ahead:
            return -math.inf
        if self._purse + self._coming < head:
            return -math.inf
        return self._ahead[-1].due - LEAD

    # What to say, and what was said

    def call(self, name: str, now: float, demand: Demand, limits: Limits) -> LimiterRequest:
        """What to tell and to ask now. What is told is told once: it must arrive, see `untold`."""
        self._ripen(now)
        if now < self._blocked_until:
            self._void_permits()
        self._measure(now)
        self._let_go(now, demand)
        idle = self.slots - self.out
        stock = len(self._ripe) + len(self._ahead)
        ask = first = 0
        if self._permits_last(demand.head) <= now:
            short = demand.head - self._purse - self._coming
            ask = max(demand.waiting - stock, 1 if short > 0 else 0)
            first = max(demand.mean, short)
        if not stock:
            # Tokens of permits that were never used; what the next one needs is kept for it.
            spare = self._purse - (demand.head if demand.waiting else 0)
            if spare > 0:
                self._settle -= spare
                self._purse -= spare
            first = max(0, demand.head - self._purse) if demand.waiting else 0
        turn = math.ceil(self._ends * AHEAD)
        steady = self._begins >= STEADY and stock + ask <= demand.waiting
        call = LimiterRequest(
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
            cut=self._cut,
            heard=self._hearing.tell(now, self._memory.requests, self._memory.tokens),
        )
        self._settle = self._unpaced_requests = self._unpaced_tokens = self._succeeded = 0
        self._news = False
        self._sent_at = now
        return call

    def untold(self, call: LimiterRequest) -> None:
        """Nobody knows whether a call has arrived. To owe twice is safe, to be given back twice is not."""
        self._settle += max(0, call.settle)
        self._cut = self._cut or call.cut
        self._news = True

    def answered(self, call: LimiterRequest, reply: LimiterReply, asked_at: float, now: float) -> None:
        """Take over what was granted: `asked_at` and `now` are when that try was made, and when its answer came."""
        self.slots += reply.more
        self._keep = reply.keep
        self._contended = reply.contended
        self._concurrency = reply.concurrency
        self._paced = reply.paced or self._hearing.of_limits
        self._memory = reply.memory
        self._cut = self._cut and not call.cut
        self._answered_at = now
        self._fresh_until = asked_at + FRESH
        if reply.blocked > 0:
            self._blocked_until = max(self._blocked_until, now + reply.blocked)
        elif now >= self._own_blocked_until:
            self._blocked_until = -math.inf
        since = min(now, asked_at + PROMPT)
        tokens = call.first
        for delay in reply.delays:
            self._ahead.append(_Permit(since + delay, tokens))
            self._coming += tokens
            tokens = call.each
        if len(self._ahead) > len(reply.delays) > 0:  # what was settled meanwhile may have moved appointments forward
            self._ahead = deque(sorted(self._ahead, key=lambda permit: permit.due))
        if self._keep is not None and self.slots > self._keep:
            # A slot whose permit is not due yet is used once: two who take it from each other would never use it.
            spoken_for = self.out + min(self.slots - self.out, len(self._ripe) + len(self._ahead))
            left = max(self._keep, spoken_for)
            self._news = self._news or left < self.slots
            self.slots = min(self.slots, left)
        if reply.delays:
            self._permits_at = -math.inf
        elif call.ask:
            self._permits_at = now + (self._poll if reply.wait is None else reply.wait)
        if reply.more or self.out < self.slots:
            self._poll = FIRST_POLL
            self._slots_at = -math.inf
        else:
            self._slots_at = now + self._poll
            self._poll = min(2 * self._poll, LAST_POLL)

    def memory(self, now: float) -> SharedLimitState:
        """What to tell a server that has forgotten."""
        known, since = self._memory, now - self._answered_at
        if not known.epoch:
            return known
        requests, tokens = (replace(one, lead=max(0.0, one.lead - since)) for one in (known.requests, known.tokens))
        return replace(known, requests=requests, tokens=tokens)

    def farewell(self, name: str) -> LimiterRequest:
        """The last call: everything is given back."""
        self._void_permits()
        return LimiterRequest(name=name, lease=0.0, settle=self._settle - self._purse)

    def _ripen(self, now: float) -> None:
        ahead, ripe = self._ahead, self._ripe
        while ahead and ahead[0].due <= now:
            permit = ahead.popleft()
            self._purse += permit.tokens
            self._coming -= permit.tokens
            ripe.append(permit.due)
        while ripe and ripe[0] + GRACE < now:
            ripe.popleft()

    def _void_permits(self) -> None:
        self._purse += self._coming
        self._coming = 0
        self._ahead.clear()
        self._ripe.clear()

    def _measure(self, now: float) -> None:
        """How many calls begin and end per second; forgets within about a second."""
        since = min(10.0, now - self._sent_at)
        kept = math.exp(-since)
        self._ends = kept * self._ends + (1 - kept) * self._ended / max(since, GATHER)
        self._begins = kept * self._begins + (1 - kept) * self._begun / max(since, GATHER)
        self._ended = self._begun = 0

    def _let_go(self, now: float, demand: Demand) -> None:
        """Give slots back that nobody needs: at once where others wait for them, else what rested for a while."""
        idle = self.slots - self.out
        if self._contended:
            self.slots -= max(0, idle - demand.waiting)
        elif now >= self._rested_at + REST:
            self.slots -= max(0, min(self._least_idle, idle - demand.waiting))
        else:
            return
        self._rested_at = now
        self._least_idle = self.slots - self.out

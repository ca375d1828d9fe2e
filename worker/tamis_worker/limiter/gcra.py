"""The formulas that space permits so that no window of a minute exceeds the limit.

The limiter is a GCRA (generic cell rate algorithm). Per limit it keeps one time, the *theoretical arrival time* TAT, up
to which earlier use is paid for. It does not accept or refuse; it grants permits with due times. A permit of `cost` is
due at

    due = max(now, TAT + min(cost, burst) - burst)        and then        TAT = max(TAT, due) + cost

and is granted if it is due within `AHEAD`. So permits worth up to `burst` of time may come at once, and the rest
follows at `interval`. A process that holds permits need not ask in between, and loses nothing by that.

Redis computes the formulas: these in `gcra.lua`, concurrency in `aimd.lua`, the use of others in `usage.lua`.

**Requests.** A request costs one interval T; the burst is b requests. Let n requests be due at t1 <= ... <= tn. Every
grant adds T to a TAT that is at least t1: before the n-th, TAT >= t1 + (n - 1) T, and its due time is at least TAT + T
- b T. So n <= b + (tn - t1) / T.

**Lateness.** A call reaches the endpoint a little after it is due: its process may use the permit up to `GRACE` late,
and Redis, event loops and networks add delays. If no call is more than `LATE` later than the most punctual call, calls
that arrive within one half-open window W = 60 s are due within less than W + LATE. With T = (W + LATE) / (rpm - b + 1)
that makes n < rpm + 1: at most `rpm`.

**Tokens.** A permit costs its estimate times T; the burst is B tokens. By the same proof, the estimates granted in one
window sum up to less than `tpm` with T = (W + LATE) / (tpm - B). An estimate larger than B is granted once all before
it is paid for, so a window may exceed the limit by the excess over B of one such estimate. Unused tokens of a permit
return when it is settled: tokens in flight at the beginning of a window may return within it.

**Cost.** A greedy caller gets (rpm - b + 1) W / (W + LATE) a minute. With b = 0.5 % of the limit and LATE = 0.6 s that
is 0.995 x 60 / 60.6 = 98.5 % of the limit, of requests as of tokens: 0.5 % for the burst, 1 % for lateness. The burst
must only cover the permits missed between two requests to Redis: none, if processes ask before their permits run out.

**Concurrency (AIMD).** The settings give the ceiling C. When the endpoint reports overload (429, 503), calls in flight
are halved, at most once per `CUT_WINDOW` and never while all are blocked. They grow again with every second in which
calls succeed: by C / 10 up to 95 % of their level before the trouble, above that by a twentieth of that level. So after
a storm that reduced them to 1, nearly all of C is back in 10 s, and 90 % of a rate limit that needs half of C in less
than 5 s. If the endpoint bears fewer calls than C, they probe upwards slowly.

**Others who use the same key.** The endpoint counts `limit - remaining` as used. In a window of a minute, fixed or
sliding, that is at most the use of the last 60 s; in a bucket that refills steadily, at most the use less the refill.
If it exceeds the use that the grants of all workers explain, others have used the rest, `foreign`. Only then is the
limit lowered, to limit - FOREIGN_FACTOR x foreign; a `remaining` that is small through our own use costs nothing. A
bucket is recognised by its `reset`: it is full again after taken / limit minutes. Of n others' calls a minute in a
bucket, n / FOREIGN_FACTOR are missing in the long run: there, our use, their use and the refill are in balance. In a
fixed window, the use since its beginning counts, and others are assumed to continue as before.
"""

WINDOW = 60_000_000  # microseconds
LATE = 600_000  # microseconds; see above
BURST_SHARE = 0.005  # of a minute's limit may come at once

# Seconds.
AHEAD = 0.5  # seconds that permits are granted ahead: few round trips, and few calls under way at a block
GRACE = 0.3  # seconds after its due time until a permit is void; the other half of LATE is for everything else

CUT_WINDOW = 1.0  # seconds; errors of calls that were in flight together are one event
CUT_FACTOR = 0.5
FAST_GROWTH = 0.1  # of the ceiling, per second
SLOW_GROWTH = 0.05  # of the level before the trouble, per second
SLOW_FROM = 0.95  # of that level

FOREIGN_FACTOR = 1.25  # at 1, a bucket would be empty before the use of both were in balance
FOREIGN_FROM = 0.02  # of the limit; smaller differences come from different ways of counting
FOREIGN_KEPT = 20.0  # seconds beyond the reset: at its beginning a fixed window shows nothing
NEW_WINDOW = 45.0  # seconds of a minute's reset beyond which a fixed window is too young to show anything
LEAST_SHARE = 0.1  # of the limit is always used, even if others seem to use all: only answers show a change

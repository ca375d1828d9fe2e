"""The formulas that space permits so that no window of a minute exceeds the limit.

The limiter is a GCRA (generic cell rate algorithm). For each limit it keeps one time, TAT (*theoretical arrival time*).
Until this time, earlier permits use up the limit. The limiter does not accept or refuse calls, but grants permits with
due times. A permit that costs `cost` seconds is due at

    due = max(now, TAT + min(cost, burst) - burst)        and then        TAT = max(TAT, due) + cost

and is granted if it is due within `AHEAD`. So permits of up to `burst` seconds may be due at once. Each later permit is
due its own cost after the permit before. While a process holds permits, it need not ask Redis.

Redis computes these formulas in `gcra.lua`, concurrency in `aimd.lua`, and the use of the limit by other programs in
`usage.lua`.

**Requests.** A request costs one interval T, and the burst is b requests. Let n requests be due at t1 <= ... <= tn.
Every grant adds T to a TAT that is at least t1. So before the n-th grant TAT >= t1 + (n - 1) T, and the due time is
tn >= TAT + T - b T. It follows that n <= b + (tn - t1) / T.

**Lateness.** A call reaches the endpoint a little after it is due. A process may use a permit up to `GRACE` late, and
Redis, event loops and networks add delays. Assume that no call is more than `LATE` later than the most punctual
call. Then calls that arrive within one half-open window W = 60 s are due within less than W + LATE. With
T = (W + LATE) / (rpm - b + 1) it follows that n < rpm + 1, so at most `rpm` calls arrive.

**Tokens.** A permit costs its estimate times T, and the burst is B tokens. By the same proof, the estimates granted in
one window sum up to less than `tpm` with T = (W + LATE) / (tpm - B). An estimate larger than B is granted when all
earlier permits are paid for. So a window may exceed the limit by (estimate - B) of one such permit. A permit's unused
tokens return when its call ends. So tokens that were in flight when a window began may return within that window.

**Cost.** Processes that always have calls waiting get (rpm - b + 1) W / (W + LATE) requests a minute. With b = 0.5 % of
the limit and LATE = 0.6 s that is 0.995 x 60 / 60.6 = 98.5 % of the limit. The burst costs 0.5 % and lateness 1 %, for
requests and tokens alike. The burst only needs to cover the permits that are missed between two requests to Redis.
Processes miss no permits if they ask before their permits run out.

**Concurrency (AIMD).** The settings give the ceiling C. When the endpoint reports overload (429, 503), the limit on
calls in flight is halved, at most once per `CUT_WINDOW`, and not while calls are blocked. The limit grows again while
calls succeed. Let L be the level before the overload: the limit grows by C / 10 a second up to 95 % of L, and by L / 20
a second above that. So if overload reduced the limit to 1, nearly all of C is back in 10 s. If half of C is enough for
the full rate, 90 % of this rate are back in less than 5 s. If the endpoint accepts fewer calls than C, the limit rises
slowly.

**Other programs that use the same key.** The endpoint counts `limit - remaining` as used. In a fixed or sliding window
of a minute, this number is at most the use of the last 60 s. In a bucket that refills steadily, it is at most the use
less the refill. If the number exceeds the use that the grants of all workers explain, other programs have used the
difference, `foreign`. Only then is the limit lowered, to limit - FOREIGN_FACTOR x foreign. A bucket is recognised by
the endpoint's `reset`: the bucket is full again after taken / limit minutes. If other programs make n calls a minute in
a bucket, `foreign` is n / FOREIGN_FACTOR in the long run. So the limit is lowered by n, and our use, their use and the
refill are in balance. In a fixed window, the use since the window's beginning counts. The limiter assumes that the
other programs continue at the same rate.
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

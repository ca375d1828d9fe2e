"""How fast permits may follow each other, so that no window of a minute holds more than the limit.

The limiter is a GCRA (generic cell rate algorithm): per limit it keeps one time, the *theoretical arrival time* TAT,
up to which the past is paid for. It does not say yes or no, it grants permits with due times. One of `cost` is due at

    due = max(now, TAT + min(cost, burst) - burst)        and then        TAT = max(TAT, due) + cost

and is granted if it is due within `AHEAD`. So up to `burst` worth of time may come at once, the rest follows at
`interval`, and a process that holds permits need not ask in between: nothing is lost while it does not.

The formulas are computed on Redis: these in `gcra.lua`, concurrency in `aimd.lua`, the use of others in `usage.lua`.

**Requests.** A request costs one interval T; the burst is b requests. Let n requests be due at t1 <= ... <= tn. Every
grant adds T to a TAT that is at least t1: before the n-th, TAT >= t1 + (n - 1) T, and its due time is at least
TAT + T - b T. So n <= b + (tn - t1) / T.

**Lateness.** A call reaches the endpoint a little after it is due: its process may use the permit up to `GRACE` late,
and answers of Redis, event loops and networks take their time. If no call is later than `LATE` beyond the one that is
least late, calls that arrive within one half-open window W = 60 s are due within less than W + LATE. With
T = (W + LATE) / (rpm - b + 1) that makes n < rpm + 1: at most `rpm`.

**Tokens.** A permit costs its estimate times T; the burst is B tokens. In the same way, the estimates granted in one
window sum up to less than `tpm` with T = (W + LATE) / (tpm - B). An estimate larger than B is granted once all before
it is paid for, so a window may hold one such estimate's excess over B on top. What a permit did not use comes back when
it is settled: tokens that were in flight when a window began may come back within it.

**What it costs.** A greedy caller gets (rpm - b + 1) W / (W + LATE) a minute. With b = 0.5 % of the limit and LATE =
0.6 s that is 0.995 x 60 / 60.6 = 98.5 % of the limit, of requests as of tokens: 0.5 % for the burst, 1 % for lateness.
The burst must only be as large as what is missed between two conversations of the processes with Redis: nothing, as
long as they ask again before their permits are over.

**Concurrency (AIMD).** The ceiling C is the settings'. When the endpoint says that it is too much (429, 503), calls in
flight are halved, at most once per `CUT_WINDOW` and never while all are blocked anyway. They grow again with every
second in which calls succeed: by C / 10 up to 95 % of where they stood before the trouble began, above that by a
twentieth of that level. So after a storm that brought them down to 1, nearly all of C is back in 10 s, and 90 % of a
rate limit that needs half of C in less than 5 s; and at an endpoint that bears fewer calls than C, they probe upwards
slowly.

**Others who use the same key.** The endpoint counts `limit - remaining` as used. In a window of a minute, fixed or
sliding, that is never more than what was asked in the last 60 s; in a bucket that refills all the time, never more than
what was asked less what has come back. Where it is more than what all workers together explain by what they were
granted, others have used the rest, `foreign`; only then is the limit lowered, to limit - FOREIGN_FACTOR x foreign. A
`remaining` that is small because we use the limit ourselves costs nothing. A bucket is known by its `reset`: it is full
again after taken / limit minutes. Of n others' calls a minute in a bucket, n / FOREIGN_FACTOR are missing in the long
run: there, what we ask, what they ask and what comes back are in balance. In a fixed window, what counts is what was
asked since it began, and others are taken to go on as before.
"""

WINDOW = 60_000_000  # microseconds
LATE = 600_000  # microseconds; see above
BURST_SHARE = 0.005  # of a minute's limit may come at once

# Seconds.
AHEAD = 0.5  # permits are given so far ahead: few round trips, and little is under way when a block comes
GRACE = 0.3  # a permit not used so long after it was due is void; the other half of LATE is for everything else

CUT_WINDOW = 1.0  # seconds; errors of calls that were in flight together are one event
CUT_FACTOR = 0.5
FAST_GROWTH = 0.1  # of the ceiling, per second
SLOW_GROWTH = 0.05  # of the level before the trouble, per second
SLOW_FROM = 0.95  # of that level

FOREIGN_FACTOR = 1.25  # at 1, a bucket would be used up before the use of both were in balance
FOREIGN_FROM = 0.02  # of the limit; smaller differences are those of two ways to count
FOREIGN_KEPT = 20.0  # seconds beyond the reset: at its beginning a fixed window shows nothing
NEW_WINDOW = 45.0  # seconds of a minute's reset beyond which a fixed window is too young to show anything
LEAST_SHARE = 0.1  # of the limit is used even where others seem to use all of it: only answers tell of a change

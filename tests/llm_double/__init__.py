"""An OpenAI-compatible HTTP server whose latency, limits and faults are scripted, in a process of its own.

    with Double.start(latency=0.2, faults=[Fault(Kind.RATE_LIMITED, calls=(1,), retry_after="2")]) as double:
        ...  # ask double.base_url
        assert double.count(status=429) == 1

What real endpoints and models are like it is by personalities, in the order in which they are named (`personalities`
holds one file each, `registry` their names):

    with Double.start(personalities=["ignores_format", "thinks", Personality("prefix_cache", writes=True)]) as double:
        ...
        assert double.account().of(model="m").cached_tokens > 0

By hand: `PYTHONPATH=tests python -m llm_double --port 8000 --personality talks`.
"""

from .account import Account, Charge
from .double import Call, Double
from .personalities.personality import Personality
from .script import Fault, Kind, Options, Quotes, Scripted
from .tally import Second, Tally

__all__ = [
    "Account",
    "Call",
    "Charge",
    "Double",
    "Fault",
    "Kind",
    "Options",
    "Personality",
    "Quotes",
    "Scripted",
    "Second",
    "Tally",
]

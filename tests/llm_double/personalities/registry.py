"""The personalities by name."""

from collections.abc import Callable
from functools import partial

from .another_snapshot import AnotherSnapshot
from .asks import AsksForField, AsksForHeader, Redirects
from .behaviour import Behaviour
from .content_parts import ContentParts
from .deviates import WAYS, Deviates
from .error_in_200 import ErrorIn200, ErrorInChoice, Html
from .expiring_key import ExpiringKey
from .fenced import Fenced, FencedInProse
from .flex_capacity import FlexCapacity
from .grammar import Grammar
from .ignores_format import IgnoresFormat
from .observed import Observed
from .percent_confidence import PercentConfidence
from .prefix_cache import PrefixCache
from .reasons import Reasons, ReasonsOnly
from .recorded import Recorded
from .refuses_format import AsksForTheWord, FailsItsFormat, RefusesFormat
from .streams import BlankLines, RunsToWhitespace, Streams
from .strict import Strict
from .talks import Talks
from .thinks import LeaksChannels, Thinks
from .token_probabilities import RefusesTokenProbabilities, TokenProbabilities
from .tool_calls import ToolCalls
from .usage import UsageAbsurd, UsageMissing, UsageNullDetails, UsageOfCutPrompts, UsageZero

_BEHAVIOURS: dict[str, Callable[..., Behaviour]] = {
    # how response_format counts
    "strict": Strict,
    "grammar": Grammar,
    "ignores_format": IgnoresFormat,
    "refuses_format": RefusesFormat,
    "json_mode_only": RefusesFormat,
    "text_only": partial(RefusesFormat, every_type=True),
    "asks_for_the_word_json": AsksForTheWord,
    "fails_its_format": FailsItsFormat,
    # what the model writes
    "talks": Talks,
    "always_talks": partial(Talks, obeys=False),
    "fenced": Fenced,
    "fenced_in_prose": FencedInProse,
    "thinks": Thinks,
    "thinks_loudly": partial(Thinks, tag="<THINK>"),
    "thinks_in_brackets": partial(Thinks, tag="[THINK]"),
    "thinks_unopened": partial(Thinks, opens=False),
    "thinks_twice": partial(Thinks, thoughts=2),
    "drafts": partial(Thinks, drafts=True),
    "never_closes": partial(Thinks, closes=False),
    "leaks_channels": LeaksChannels,
    "runs_to_whitespace": RunsToWhitespace,
    "deviates": Deviates,
    **{way: partial(Deviates, ways=(way,)) for way in WAYS},
    "percent_confidence": PercentConfidence,
    "recorded": Recorded,
    # where the answer stands
    "reasoning_content": Reasons,
    "reasoning": partial(Reasons, field="reasoning"),
    "reasoning_only": ReasonsOnly,
    "tool_calls": ToolCalls,
    "content_parts": ContentParts,
    "logprobs": TokenProbabilities,
    "refuses_logprobs": RefusesTokenProbabilities,
    "error_in_200": ErrorIn200,
    "error_in_choice": ErrorInChoice,
    "html": Html,
    "streams": Streams,
    "blank_lines": BlankLines,
    # what the endpoint asks for, and what it bills
    "asks_for_header": AsksForHeader,
    "asks_for_field": AsksForField,
    "redirects": Redirects,
    "expiring_key": ExpiringKey,
    "flex_capacity": FlexCapacity,
    "prefix_cache": PrefixCache,
    "usage_missing": UsageMissing,
    "usage_zero": UsageZero,
    "usage_absurd": UsageAbsurd,
    "usage_null_details": UsageNullDetails,
    "usage_of_cut_prompts": UsageOfCutPrompts,
    "another_snapshot": AnotherSnapshot,
    # odd habits of real endpoints
    "observed": Observed,
}

NAMES = tuple(_BEHAVIOURS)


def behaviour_of(name: str) -> Callable[..., Behaviour]:
    """What makes a behaviour of its parameters. Raises ValueError for a name that is none."""
    if name not in _BEHAVIOURS:
        raise ValueError(f"no personality is named {name!r}; there are {', '.join(NAMES)}")
    return _BEHAVIOURS[name]

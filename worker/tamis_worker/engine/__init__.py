"""From a claimed item to its result: limiter, LLM, validation, repair, commit."""

"""The doctor, which examines everything that Tamis needs, and knows a remedy for each fault.

Each part of the examination first reads a state, then judges it. The judging functions are pure.
"""

"""The doctor: examines everything that Tamis needs, with a remedy for each fault.

Each part of the examination first reads a state, then judges it. The judging functions are pure.
"""

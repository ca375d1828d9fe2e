"""The doctor: examines everything that Tamis needs, with a remedy for each fault.

Each part reads first and judges then; the judging functions are pure.
"""

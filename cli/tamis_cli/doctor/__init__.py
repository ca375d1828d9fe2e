"""The doctor, which examines everything that Tamis needs, and knows a remedy for each fault.

Functions `read_...` read a state. Pure functions `judge_...` return the findings about this state.
"""

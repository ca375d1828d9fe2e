"""The doctor: looks at everything that Tamis needs, and says how to mend what is wrong.

Each part reads first and judges then; what judges is pure.
"""

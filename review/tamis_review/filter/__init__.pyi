from .initial_filter import InitialFilter as InitialFilter

"""The HTTP gateway: the client's functions for programs and pages that use HTTP."""

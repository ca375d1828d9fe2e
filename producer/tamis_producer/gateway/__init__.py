"""The HTTP gateway: what the client can do, for programs and pages that speak HTTP."""

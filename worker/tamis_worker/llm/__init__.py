"""The endpoint and the model: how a question is written for them, the call, and what their answers hold."""

"""Language models: the form of a question, the call, and the content of the answer."""

"""The figures that the documents quote, each as a command."""

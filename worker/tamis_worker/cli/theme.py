"""The themes of commands."""

from enum import StrEnum


class Theme(StrEnum):
    """What a command is about: the headings of `tamis help`, in this order."""

    ASK = "Ask about records"
    READ = "See what came of it"
    STEER = "Steer what runs"
    CHECK = "Check it, and decide yourself"
    RUN = "Run the parts"
    HELP = "Help"

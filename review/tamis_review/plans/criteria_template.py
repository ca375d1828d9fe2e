"""The file that a review's criteria begin with: every field, and what it is for."""

# An explanation begins with "# ", a field that may be left out with "#": without this mark it is valid as it stands.
TEMPLATE = """\
# The criteria of a review, for `tamis screen records.ris --criteria criteria.yaml`.
# `tamis criteria check criteria.yaml` says how they are understood. A text with a colon in it stands in quotes.

# What the review asks. Every record is judged with this question in view.
research_question: >-
  Does exercise done at home, compared with usual care, improve physical function in adults after hip replacement?

# What the answers are used for; it tells the model how strict to be. May be left out.
purpose: >-
  Title and abstract screening of a systematic review. A record that may be relevant is kept for full-text reading.

# A record must meet every one of these. One condition an entry: under a label (I1, I2, ...) each gets a quote from the
# record and a verdict of its own: met, not met, not met by silence or unclear. A record that does not meet one reads
# "not met: ..." as its reason, unless the entry brings words for that, as the last one here does.
inclusion_criteria:
  - The participants are adults who have had a hip replacement
  - At least one group exercises mainly at home
  - criterion: The study is a randomised controlled trial
    exclude_as: Wrong study design

# One of these is enough to exclude a record. Each says what is excluded, and not what is wanted: E1, E2, ...
# At least one criterion must stand in one of the two lists.
exclusion_criteria:
  - The record is a review, a study protocol or an editorial
  - The study was done on animals or cadavers

# The first and the last year of publication, both included. A record of another year is excluded by the initial filter,
# before any model is asked; a record without a year is not.
#date_range: [2010, 2025]

# Kinds of study that the review looks for. A record must be of one of them: together they are a criterion, S1, with a
# verdict of its own. No rule of the initial filter applies that would reject such studies.
#study_types:
#  - randomised controlled trial
#  - cluster randomised trial

# The words for what a criterion excludes, by its label; the same as `exclude_as` in its entry.
#exclude_as:
#  S1: Wrong study design

# Words by which the initial filter excludes a record whose title or abstract says them of itself, besides those that it
# knows (animal studies, editorials, ...). Each is found as whole words, in British and American spelling.
#custom_keywords:
#  - simulation study
#  - finite element model

# Records that people have decided about, to show the model how the criteria are meant: none that is to be screened.
# Every call reads them, so a few are enough, some of each decision. Short criteria come with them to the 1,024 tokens
# from which endpoints keep the common beginning of the prompts and ask less for it: `tamis criteria check` counts.
# `tamis screen --examples-from ID` takes them from an earlier batch of the review instead.
#examples:
#  - title: Home-based exercise after total hip replacement, a randomised trial
#    abstract: We randomised 90 adults after hip replacement to exercise at home or usual care.
#    decision: include
#  - title: Strength of the hip in cadavers of adults
#    decision: exclude
#    reason: The study was done on cadavers
"""

"""The words of the table; what its rows say is in test_record.py."""

from tamis_review.report.table import outcome_names, table_facts
from tamis_schemas import SearchCriteria


def test_outcomes_are_called_what_the_operation_calls_them() -> None:
    assert (outcome_names("inclusion")["passed"], outcome_names("inclusion")["excluded"]) == ("include", "exclude")
    assert (outcome_names("filter")["passed"], outcome_names("filter")["excluded"]) == ("yes", "no")
    assert outcome_names("score")["passed"] == "evaluated"


def test_the_facts_hold_the_criteria_by_label_and_the_words_of_each_stage() -> None:
    criteria = SearchCriteria(research_question="Q?", inclusion_criteria=["Adults"], exclusion_criteria=["Animals"])
    facts = table_facts(criteria.labelled(), ["inclusion", "extract"])
    assert facts["criteria"] == {
        "I1": {"text": "Adults", "excludes": False},
        "E1": {"text": "Animals", "excludes": True},
    }
    assert facts["names"] == outcome_names("inclusion")
    assert [stage["names"]["passed"] for stage in facts["stages"]] == ["include", "evaluated"]
    assert facts["stages"][1]["noun"] == "extraction"

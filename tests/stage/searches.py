"""A small review's searches, as four databases export them: copies between them, and one database in two forms.

| file | what |
|---|---|
| `medline.csv` | PubMed's CSV: five records, no abstracts |
| `pubmed.nbib` | the same database's NBIB: the five with abstracts, and one that the CSV lacks |
| `embase.csv` | a database's: four records; one is a copy of PubMed's, two more are copies of another of PubMed's |
| `trials.csv` | a register's: two trials |

6 + 4 + 2 records are identified; three of Embase's are copies.
"""

from pathlib import Path

WALKS = "Supervised walking at home after a hip replacement"
SWIMS = "Swimming pools and the knees of retired carpenters"
RESTS = "A week of rest for tired ankles, and what came of it"
STAIRS = "Climbing stairs with two new hips in one season"
BENCHES = "Benches in hospital gardens as an aid to recovery"
LATE = "A late record that the table does not have yet"
ABSTRACT = "Sixty adults walked three times a week for half a year; distance and pain were measured twice."

MEDLINE = (
    "PMID,Title,Authors,Journal/Book,Publication Year,Create Date,DOI\n"
    f"101,{WALKS},Ames A; Bond B,J Walk,2021,2021/03/01,\n"
    f"102,{SWIMS},Cole C,J Swim,2020,2020/03/01,10.1000/swims\n"
    f'103,"{RESTS}",Dunn D,J Rest,2019,2019/03/01,\n'
    f"104,{STAIRS},Eves E,J Stairs,2018,2018/03/01,10.1000/stairs\n"
    f"105,{BENCHES},Fox F,J Gardens,2017,2017/03/01,\n"
)
EMBASE = (
    "Accession,Title,Authors,Journal,Year,DOI,Abstract,Database\n"
    f"L1,{WALKS},Ames A.; Bond B.,Journal of Walking,2021,10.1000/walks,,Embase\n"
    f"L2,{STAIRS}.,Eves E.,Journal of Stairs,2017,10.1000/stairs,,Embase\n"
    f"L3,Another matter altogether: the history of the walking stick,Gray G.,Hist Rev,1999,,,Embase\n"
    f"L4,{STAIRS},Eves E.,Journal of Stairs,2018,10.1000/stairs,,Embase\n"
)
TRIALS = "nct_id,title\nNCT00000001,A register's trial of walking\nNCT00000002,A register's trial of resting\n"


def nbib(pmid: int, title: str, abstract: str = ABSTRACT) -> str:
    return f"PMID- {pmid}\nOWN - NLM\nTI  - {title}\nAB  - {abstract} ({pmid})\n"


NBIB = "\n".join(
    [nbib(101, WALKS), nbib(102, SWIMS), nbib(103, RESTS), nbib(104, STAIRS), nbib(105, BENCHES), nbib(106, LATE)]
)


def write_searches(folder: Path) -> dict[str, Path]:
    """Write the four files; their paths by name."""
    texts = {"medline.csv": MEDLINE, "pubmed.nbib": NBIB, "embase.csv": EMBASE, "trials.csv": TRIALS}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    return {name: folder / name for name in texts}

"""The service's jobs as commands; each prints one JSON document.

python main.py filter DATABASE EXECUTION UNIT CRITERIA     the pipeline's filter step, awaited
python main.py refine ARTICLES CRITERIA THRESHOLD TYPE     the refinement workbench, awaited
python main.py enqueue ARTICLES NIGHT CRITERIA             the nightly job: a batch's id, at once
python main.py collect BATCH                               its decisions, once it is finished
"""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from models import Base
from schemas import CanonicalResearchArticle
from services.nightly_screening import NightlyScreening
from services.pipeline_service import PipelineService
from services.refinement_workbench_service import RefinementWorkbenchService
from services.wip_article_service import WipArticleService
from tamis_producer import Client

WAIT = 120.0  # s


def run(job: str, *given: str) -> object:
    """What the job of this name came to."""
    match job, *given:
        case "filter", database, execution, unit, criteria:
            engine = create_engine(database, hide_parameters=True)
            Base.metadata.create_all(engine)
            with Session(engine) as session:
                pipeline = PipelineService(WipArticleService(session))
                counts = asyncio.run(pipeline._filter_articles(execution, unit, criteria, threshold=0.5))
            engine.dispose()
            return {"passed": counts[0], "rejected": counts[1]}
        case "refine", file, criteria, threshold, output_type:
            workbench = RefinementWorkbenchService()
            found = asyncio.run(workbench.filter_articles(read(file), criteria, float(threshold), output_type))
            return [{**one, "article": one["article"].id} for one in found]
        case "enqueue", file, night, criteria:
            with Client() as client:
                return {"batch": NightlyScreening(client).enqueue(night, read(file), criteria)}
        case "collect", batch:
            with Client() as client:
                return [asdict(one) for one in NightlyScreening(client).collect(batch, timeout=WAIT)]
        case _:
            raise SystemExit(__doc__)


def read(file: str) -> list[CanonicalResearchArticle]:
    """The articles of a JSON file."""
    return [CanonicalResearchArticle.model_validate(one) for one in json.loads(Path(file).read_text("utf-8"))]


if __name__ == "__main__":
    json.dump(run(*sys.argv[1:]), sys.stdout)

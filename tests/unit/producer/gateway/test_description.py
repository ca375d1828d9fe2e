"""The description makes good clients: each route and each model has a name of its own, and nothing means two things."""

import re
from collections import Counter
from typing import Any

import pytest

from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway.app import create_app
from tamis_review.page.application import FORMS, Screening
from tamis_review.page.upload import MEDIA_TYPE

NOWHERE = ProducerSettings(
    broker_url="redis://127.0.0.1:1/0", database_url="postgresql+psycopg://user@127.0.0.1:1/tamis"
)
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    with Client(NOWHERE) as client:
        return create_app(client, application=Screening()).openapi()


def operations(described: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for methods in described["paths"].values() for name, one in methods.items() if name in METHODS]


def test_each_operation_has_a_short_id_of_its_own(described: dict[str, Any]) -> None:
    ids = [one["operationId"] for one in operations(described)]
    assert [one for one, n in Counter(ids).items() if n > 1] == []
    # A verb and a noun; what FastAPI would make holds the path and the method.
    assert [one for one in ids if not re.fullmatch(r"[a-z]+(_[a-z]+){1,3}", one)] == []
    assert [one for one in ids if one.endswith(("_get", "_post", "_delete"))] == []
    assert {"submit_batch", "list_batches", "get_results", "override_item"} <= {*ids}


def test_each_model_has_one_name_and_one_meaning(described: dict[str, Any]) -> None:
    models = described["components"]["schemas"]
    assert [name for name in models if not re.fullmatch(r"[A-Za-z]+", name)] == []  # no X-Input beside X-Output
    titles = Counter(model.get("title") for model in models.values())
    assert [title for title, n in titles.items() if n > 1] == []
    assert not {"HTTPValidationError", "ValidationError"} & models.keys()  # errors are problems, all of them


def test_whatever_is_named_is_there(described: dict[str, Any]) -> None:
    named = set(re.findall(r"#/components/schemas/(\w+)", repr(described)))
    assert named <= described["components"]["schemas"].keys()


def test_it_says_where_it_is_served(described: dict[str, Any]) -> None:
    assert [server["url"] for server in described["servers"]] == ["/"]


def test_no_parameter_is_null(described: dict[str, Any]) -> None:
    parameters = [parameter for one in operations(described) for parameter in one.get("parameters", ())]
    assert any(parameter["name"] == "idempotency-key" for parameter in parameters)
    assert [one["name"] for one in parameters if "null" in repr(one["schema"])] == []


def test_every_submitting_route_tells_of_replays_and_of_money(described: dict[str, Any]) -> None:
    for path in ("/v1/batches", "/v1/files"):
        responses = described["paths"][path]["post"]["responses"]
        assert responses["201"]["headers"].keys() == {"Location", "Idempotency-Replayed"}
        assert "402" in responses
    for path in ("/api/tablizer/filter", "/api/tablizer/extract", "/api/lab/generate-answer"):
        assert {"200", "202", "402"} <= described["paths"][path]["post"]["responses"].keys()


def test_the_routes_with_a_limit_of_their_own_are_those_that_take_files_and_new_batches(
    described: dict[str, Any],
) -> None:
    takes_files = {
        path
        for path, methods in described["paths"].items()
        if MEDIA_TYPE in methods.get("post", {}).get("requestBody", {}).get("content", {})
    }
    assert takes_files - {"/v1/batches"} == {*FORMS}  # in others, a comma of a file would count as one of JSON


def test_every_answer_has_a_schema_for_each_of_its_media_types(described: dict[str, Any]) -> None:
    answers = [
        (operation["operationId"], media_type, content.get("schema"))
        for operation in operations(described)
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for media_type, content in answer.get("content", {}).items()
    ]
    assert [answer for answer in answers if not answer[2]] == []
    typed = {name: schema for name, media_type, schema in answers if media_type == "application/json"}
    assert typed["get_results"] == {"$ref": "#/components/schemas/ItemResultPage"}
    assert typed["get_report"] == typed["get_review_report"] == {"$ref": "#/components/schemas/ReportDocument"}
    assert typed["get_records"] == {"$ref": "#/components/schemas/DecisionRows"}
    assert [name for name, schema in typed.items() if "$ref" not in schema] == []


def test_every_list_is_an_object_with_items_and_next(described: dict[str, Any]) -> None:
    models = described["components"]["schemas"]
    listing = [
        (operation["operationId"], content["schema"])
        for operation in operations(described)
        if operation["operationId"].startswith("list_")
        or any(p["name"] == "after" for p in operation.get("parameters", ()))
        for content in [operation["responses"]["200"]["content"]["application/json"]]
    ]
    assert {"get_results", "get_work", "list_overrides", "list_reviews"} <= {name for name, _ in listing}
    for name, schema in listing:
        assert {"items", "next"} <= {*models[schema["$ref"].rpartition("/")[2]]["required"]}, name


def test_a_batch_has_one_name_wherever_its_id_is(described: dict[str, Any]) -> None:
    fields = {
        (name, field)
        for name, model in described["components"]["schemas"].items()
        for field, schema in model.get("properties", {}).items()
        if field in ("batch", "batchId", "batch_uuid") and "$ref" not in schema
    }
    assert fields == set()
    assert {"Accepted", "Summary", "Override", "AuditView", "PilotView"} <= {
        name for name, model in described["components"]["schemas"].items() if "batch_id" in model.get("properties", {})
    }


def test_each_kind_of_operation_must_name_itself(described: dict[str, Any]) -> None:
    models = described["components"]["schemas"]
    union = models["Submission"]["properties"]["operation"]["discriminator"]
    assert union["propertyName"] == "operation"
    for word, place in union["mapping"].items():
        kind = models[place.rpartition("/")[2]]
        assert "operation" in kind["required"]
        assert kind["properties"]["operation"] == {"const": word, "title": "Operation", "type": "string"}


def test_routes_without_a_key_say_so_and_no_others(described: dict[str, Any]) -> None:
    public = {
        path for path, methods in described["paths"].items() for route in methods.values() if route["security"] == []
    }
    assert public == {"/", "/assets/{version}/{name}", "/metrics", "/healthz", "/readyz"}

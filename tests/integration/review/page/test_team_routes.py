"""The team over HTTP: how far people have read, without what they decided, and a key for one more reader."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, text

from stage.gateway import gateway, signed_in
from stage.gateway_page import decision, record
from stage.plain_http import http_client
from stage.screened import Place, decided, kept_out, write_batch, write_review, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import draw_audit, override, record_audit, set_screening_mode, withdraw_override
from tamis_review.decisions.audits import AuditDecision
from tamis_review.reading import read_team
from tamis_schemas import Exclusion, Inclusion, ScreeningMode, SearchCriteria, Stratum
from tamis_schemas.ledger import overrides

A, B = "Reviewer A", "Reviewer B"
SCREENING = Inclusion(criteria=SearchCriteria(research_question="Does it help?", inclusion_criteria=["Adults"]))


@pytest.fixture
def batch(client: Client) -> Batch:
    """Four records for people, and a copy."""
    copy = kept_out(record(4), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=1))
    rows = [*(decided(record(n), decision("exclude")) for n in range(4)), copy]
    return written_batch(client, rows, operation=SCREENING)


@pytest.mark.parametrize(
    ("mode", "read", "todo"),
    [
        (ScreeningMode.SINGLE, 3, 1),  # record 0 of both, 1 of B, 2 of A
        (ScreeningMode.PAIR, 1, 2),  # A still reads 1 and 3
        (ScreeningMode.MODEL_SECOND, 3, 1),
    ],
)
def test_a_record_is_read_once_as_many_people_decided_as_its_mode_needs(
    client: Client, batch: Batch, mode: ScreeningMode, read: int, todo: int
) -> None:
    set_screening_mode(batch, mode, set_by="Lead")
    for index, value, who in ((0, "include", A), (0, "exclude", B), (1, "uncertain", B), (2, "exclude", A)):
        override(batch, index, value, reviewer=who)
    override(batch, 4, "include", reviewer=A)  # nobody has to read a copy
    override(batch, 3, "include", reviewer=A)
    withdraw_override(batch, 3, reviewer=A)
    with signed_in(client, A, Scope.READ) as http:
        told = http.get(f"/v1/batches/{batch.id}/team").json()
    assert (told["read"], told["to_read"], told["todo"], told["conflicts"]) == (read, 4, todo, 1)
    assert (told["mode"], told["open"], told["people"]) == (mode, True, None)  # a key that controls sees the people


def test_a_batch_is_open_until_people_have_read_it_and_settled_their_conflicts(batch: Batch) -> None:
    for index in range(4):
        assert read_team(batch).open
        override(batch, index, "include", reviewer=A)
    assert not read_team(batch).open
    override(batch, 0, "exclude", reviewer=B)
    assert (read_team(batch).read, read_team(batch).conflicts, read_team(batch).open) == (4, 1, True)
    override(batch, 0, "exclude", reviewer="C", settles=True)
    assert not read_team(batch).open


def test_whoever_controls_sees_how_much_and_how_fast_each_person_reads_and_no_decision(
    client: Client, batch: Batch
) -> None:
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    old = {"batch_id": batch.uuid, "idx": 3, "reviewer": B, "value": "include", "stage": "own", "settles": False}
    weeks_ago = datetime.now(UTC) - timedelta(days=8)
    with client.engine.begin() as connection:
        connection.execute(insert(overrides).values(**old, created_at=weeks_ago))
    for index, value, who in ((0, "include", A), (0, "exclude", A), (1, "include", B)):
        override(batch, index, value, reviewer=who, note="xylophone", reason=None)
    with signed_in(client, "Lead", Scope.READ, Scope.CONTROL) as http:
        answer = http.get(f"/v1/batches/{batch.id}/team")
    told = [(one["reviewer"], one["read"], one["last_week"]) for one in answer.json()["people"]]
    assert told == [(A, 1, 1), (B, 2, 1)]
    assert all(datetime.fromisoformat(one["last_at"]) > weeks_ago for one in answer.json()["people"])
    assert not any(word in answer.text for word in ("include", "exclude", "xylophone"))
    counted = text("SELECT reviewer, count(*) FROM human_decisions WHERE current GROUP BY reviewer ORDER BY reviewer")
    with client.engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(counted)] == [(who, n) for who, n, _ in told]


def test_while_people_audit_the_model_its_sample_is_what_they_read(client: Client, batch: Batch) -> None:
    set_screening_mode(batch, ScreeningMode.MODEL_AUDITED, set_by="Lead")
    due = read_team(batch)
    assert (due.to_read, due.audit_due, due.open, due.people) == (0, True, True, ())
    audit = draw_audit(batch, 2, seed=1, stratum=Stratum.MODEL)
    first = audit.items[0].index
    for who in (A, B):  # the latest judgement is valid
        record_audit(client, audit.id, [AuditDecision(first, include=False, reviewer=who)])
    team = read_team(batch)
    assert (team.to_read, team.read, team.todo, team.audit_due, team.open) == (2, 1, 1, False, True)
    assert [(one.reviewer, one.read) for one in team.people or ()] == [(B, 1)]


def test_a_later_stage_says_nothing_of_its_readers_while_an_earlier_one_is_read_blind(client: Client) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "r", SCREENING, SCREENING)
        first = write_batch(connection, [decided(record(0), decision())], place=Place(review, 0))
        later = write_batch(connection, [decided(record(0), decision())], place=Place(review, 1))
    set_screening_mode(client.batch(str(first)), ScreeningMode.PAIR, set_by="Lead")
    with signed_in(client, A, *Scope) as http:
        assert http.get(f"/v1/batches/{first}/team").status_code == 200
        assert http.get(f"/v1/batches/{later}/team").json()["type"].endswith("blinded")


@pytest.mark.parametrize("lacking", [Scope.CONTROL, Scope.READ, Scope.DECIDE])
def test_a_key_without_these_scopes_invites_nobody(client: Client, lacking: Scope) -> None:
    with signed_in(client, "Lead", *({*Scope} - {lacking})) as http:
        assert http.post("/v1/readers", json={"name": B}).status_code == 403
    assert [key.label for key in api_keys.read_all(client.engine)] == ["Lead"]


def test_an_invited_reader_reads_and_decides_under_the_name_and_does_nothing_else(client: Client, batch: Batch) -> None:
    with signed_in(client, "Lead", Scope.READ, Scope.CONTROL, Scope.DECIDE) as http:
        answer = http.post("/v1/readers", json={"name": f" {B} "})
        assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
        # The holder of another key of a name would see and decide as that person.
        for name, refusal in ((B, 409), ("Lead", 409), (" ", 422), ("x" * 101, 422)):
            assert http.post("/v1/readers", json={"name": name}).status_code == refusal
    key = answer.json()["key"]
    with gateway(client) as base, http_client(base, key) as reader:
        at = f"/v1/batches/{batch.id}"
        assert reader.post(f"{at}/items/0/override", json={"value": "include"}).json()["reviewer"] == B
        assert reader.put(f"{at}/mode", json={"mode": "pair"}).status_code == 403
        assert reader.post("/v1/batches", json={}).status_code == 403
    made = api_keys.find(client.engine, key)
    assert made is not None
    assert made.scopes == {Scope.READ, Scope.DECIDE}
    api_keys.revoke(client.engine, made.id)
    with signed_in(client, "Lead 2", *Scope) as http:
        assert http.post("/v1/readers", json={"name": B}).status_code == 201  # who lost a key gets another


def test_no_answer_but_the_first_has_the_key(client: Client) -> None:
    with signed_in(client, "Lead", *Scope) as http:
        secret = http.post("/v1/readers", json={"name": B}).json()["key"].split("_", 2)[2]
        with client.engine.connect() as connection:
            kept = connection.execute(text("SELECT row_to_json(k)::text FROM api_keys k")).scalars()
            assert not any(secret in row for row in kept)
        assert secret not in http.get("/v1/about").text

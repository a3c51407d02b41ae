"""Dead letters that are read again, by the stock tools, at every stage of their reads' lives."""

import json
import re
from datetime import UTC, datetime

import fastavro
import pytest
import reader
from conftest import (
    accept,
    bad,
    commit_live,
    create_topic,
    dead_letter,
    delete_offsets,
    good,
    produce,
    read_key,
    read_state,
    refuse,
    reset_offsets,
    wait_until,
)

TAKE_IN_ONLY = {"replay.auto": "false"}
REWINDS = pytest.mark.parametrize("rewind", [reset_offsets, delete_offsets], ids=["offsets reset", "offsets deleted"])
COUNTERS = ("committed", "duplicate", "requeued", "parked", "merged", "seen", "intake")


def counted(result):
    """What is not zero."""
    assert list(result.stats) == list(COUNTERS)
    return {name: n for name, n in result.stats.items() if n}


@REWINDS
def test_rewound_before_and_after_they_merged_live_entries_keep_attempts_and_times(new_worker, kafka, names, check_ledger, rewind):
    create_topic(kafka, names.source, 3)
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, good(range(50)))
    assert counted(worker.run_until_idle()) == {"intake": 50}
    before = read_state(kafka, names)
    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"seen": 50, "intake": 50}
    assert read_state(kafka, names).history == before.history

    # Read again together with dead letters that were never seen.
    produce(kafka, names.source, good(range(25)))
    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"seen": 50, "merged": 25, "intake": 75}
    after, _ = check_ledger(worker)
    assert {entry["attempts"] for entry in after.live.values()} == {1, 2} and len(after.live) == 50
    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"seen": 75, "intake": 75}
    assert check_ledger(worker)[0].history == after.history


@REWINDS
def test_rewound_after_they_were_settled_they_change_no_row_and_leave_again(new_worker, kafka, names, sql, check_ledger, rewind):
    create_topic(kafka, names.source, 3)
    worker = new_worker()
    commit_live(sql, read_key(0), "0.5")
    produce(kafka, names.source, good(range(50)))
    assert counted(worker.run_until_idle()) == {"committed": 49, "duplicate": 1, "intake": 50}
    rows = sql("SELECT *, xmin FROM meter_read ORDER BY idempotency_key")
    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"duplicate": 50, "intake": 50}
    assert sql("SELECT *, xmin FROM meter_read ORDER BY idempotency_key") == rows
    state, _ = check_ledger(worker)
    assert not state.live and not state.parked
    assert {entry["attempts"] for _, entry in state.history if entry} == {1}


@REWINDS
def test_rewound_reads_parked_at_the_cap_get_another_round_and_keep_first_seen(new_worker, kafka, names, sql, check_ledger, rewind):
    create_topic(kafka, names.source, 3)
    worker = new_worker()
    refuse(sql)
    produce(kafka, names.source, bad(range(10)))
    assert counted(worker.run_until_idle()) == {"requeued": 30, "parked": 10, "intake": 10}
    first, _ = check_ledger(worker)
    rewind(kafka, names)
    assert counted(worker.run_until_idle(config=TAKE_IN_ONLY)) == {"intake": 10}
    redriven, _ = check_ledger(worker)
    assert not redriven.parked and len(redriven.live) == 10
    for identity, entry in redriven.live.items():
        was = first.parked[identity]["entry"]
        assert (entry["attempts"], entry["replays"]) == (1, 0)
        assert entry["first_seen_utc"] == was["first_seen_utc"] and entry["payload"] == was["payload"]

    # They fail on, and are parked again; once the cause is mended, another rewind settles them.
    assert counted(worker.run_until_idle()) == {"requeued": 30, "parked": 10}
    again, _ = check_ledger(worker)
    assert {event["cause"] for event in again.parked.values()} == {"poison_cap"} and len(again.parked) == 10
    accept(sql)
    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"committed": 10, "intake": 10}
    state, rows = check_ledger(worker)
    assert len(rows) == 10 and not state.parked


@REWINDS
def test_rewound_expired_reads_get_another_round(new_worker, kafka, names, check_ledger, rewind):
    worker = new_worker(config=TAKE_IN_ONLY | {"expire.after": "1s"})
    produce(kafka, names.source, good(range(3)))
    worker.run_until_idle()
    due = max(entry["due_utc"] for entry in read_state(kafka, names).live.values())
    wait_until(lambda: (datetime.now(UTC) - due).total_seconds() > 1, what="the entries to expire")
    assert counted(worker.run_until_idle()) == {"parked": 3}
    assert {event["cause"] for event in read_state(kafka, names).parked.values()} == {"expired"}
    rewind(kafka, names)
    assert counted(worker.run_until_idle(config={"replay.auto": "true"})) == {"committed": 3, "intake": 3}
    state, _ = check_ledger(worker)
    assert not state.parked and not state.live


def resolve(kafka, names, state, identities):
    """What a human does with parked reads."""
    schema = fastavro.schema.load_schema(reader.SCHEMAS / "parked_record.avsc")
    (fingerprint,) = [wire for wire, parsed in reader.load_schemas().items() if parsed["name"] == "ParkedRecord"]
    records = []
    for identity in identities:
        event = state.parked[identity] | {"event": "resolved", "by": "a person", "note": "dealt with", "at_utc": datetime.now(UTC)}
        body = reader.io.BytesIO()
        fastavro.schemaless_writer(body, schema, event)
        key = identity[0].encode()
        records.append({"key": key, "value": b"\xc3\x01" + fingerprint + body.getvalue(), "partition": reader.partition_of(key, 6)})
    produce(kafka, names.parked, records)


@REWINDS
def test_rewound_reads_parked_for_their_content_or_resolved_stay_as_they_are(new_worker, kafka, names, sql, check_ledger, rewind):
    create_topic(kafka, names.source, 3)
    worker = new_worker()
    refuse(sql)
    commit_live(sql, read_key(1), "1")
    produce(
        kafka,
        names.source,
        good([2], reason="permanent_4xx")
        + [dead_letter(None, "{"), dead_letter(read_key(1), '{"kwh": "2"}')]
        + [dead_letter(read_key(3), "")]
        + bad(range(2)),
    )
    assert counted(worker.run_until_idle()) == {"requeued": 6, "parked": 6, "intake": 6}
    first, _ = check_ledger(worker)
    capped = [identity for identity, event in first.parked.items() if event["cause"] == "poison_cap"]
    malformed = next(identity for identity, event in first.parked.items() if event["cause"] == "malformed")
    resolve(kafka, names, first, [capped[0], malformed])
    resolved = read_state(kafka, names)

    rewind(kafka, names)
    assert counted(worker.run_until_idle()) == {"requeued": 3, "parked": 1, "seen": 5, "intake": 6}
    state, rows = check_ledger(worker)
    assert len(rows) == 1 and not state.live
    for identity, event in resolved.parked.items():
        if identity != capped[1]:
            assert state.parked[identity] == event
    assert {identity for identity, event in state.parked.items() if event["event"] == "resolved"} == {capped[0], malformed}
    assert (state.parked[capped[1]]["event"], state.parked[capped[1]]["cause"]) == ("parked", "poison_cap")


def test_a_position_that_retention_has_passed_is_a_gap_that_is_logged_counted_and_shown_by_the_audit(
    worker, kafka, names, check_ledger, tmp_path
):
    produce(kafka, names.source, good(range(10)))
    worker.run_until_idle(expect=[0])
    produce(kafka, names.source, good(range(10, 30)))
    spec = tmp_path / "delete.json"
    spec.write_text(json.dumps({"version": 1, "partitions": [{"topic": names.source, "partition": 0, "offset": 25}]}))
    kafka.kafka_tool("delete-records", "--offset-json-file", spec)
    assert f"gap: {names.source} partition 0 offsets 10 to 24" in worker.audit().stderr
    result = worker.run_until_idle(expect=[0])
    assert counted(result) == {"committed": 5, "intake": 5}
    (gap,) = (event for event in map(json.loads, result.stderr.splitlines()) if event["event"] == "gap")
    assert gap["text"].startswith("dead letters from 10 to 24 were deleted")
    assert (gap["topic"], gap["partition"]) == (names.source, 0)
    _, rows = check_ledger(worker)
    assert len(rows) == 15


def test_rewound_three_times_beside_new_dead_letters_every_read_is_settled_once(new_worker, kafka, names, sql, check_ledger):
    """A topic replay while the queue is in use: to the start, then by a date into the middle."""
    create_topic(kafka, names.source, 3)
    worker = new_worker(config={"batch.max.records": 20})
    produce(kafka, names.source, good(range(100)))
    middle = datetime.now(UTC)
    worker.run_until_idle()
    for n, arguments in enumerate([(), ("--to-datetime", f"{middle:%Y-%m-%dT%H:%M:%S.000}"), ("--shift-by", "-10")], start=1):
        produce(kafka, names.source, good(range(50, 100 + 50 * n)))
        reset_offsets(kafka, names, *arguments)
        worker.run_until_idle(expect=[0])
    state, rows = check_ledger(worker)
    assert len(rows) == 250 and not state.live and not state.parked

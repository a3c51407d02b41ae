"""What becomes of each kind of dead letter, from topic to row or parked record."""

import json
import time
from datetime import UTC, datetime

from conftest import (
    bad,
    commit_live,
    create_topic,
    dead_letter,
    good,
    produce,
    read_key,
    read_state,
    refuse,
    wait_until,
)

TAKE_IN_ONLY = {"replay.auto": "false"}


def parked_by_offset(state):
    """Parked events by the offset of their dead letter; for sources of one partition."""
    return {event["entry"]["dead_letter"]["offset"]: event for event in state.parked.values()}


def headers_of(entry):
    return [(header["key"], header["value"]) for header in entry["headers"]]


# --- all kinds at once -----------------------------------------------------------------------------------------------


def test_every_kind_of_dead_letter_ends_where_it_belongs_and_is_counted_once(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config={"batch.max.wait": "500ms"})
    refuse(sql)
    for n in range(100, 103):
        commit_live(sql, read_key(n), f"{n}.5")
    commit_live(sql, read_key(200), "1")
    produce(
        kafka,
        names.source,
        good(range(20))
        + good([20]) * 3  # two merge
        + good(range(100, 103))  # committed before, as 100.5: the same amount
        + bad(range(2))  # three failed replays each, then the one that parks
        + good(range(30, 32), reason="permanent_4xx")
        + [dead_letter(None, "{"), dead_letter(read_key(40), '{"kwh": "NaN"}')]
        + [dead_letter(read_key(200), '{"kwh": "2"}')],
    )
    result = worker.run_until_idle(expect=[1])
    assert result.stdout == '{"committed":21,"duplicate":3,"requeued":6,"parked":7,"merged":2,"seen":0,"intake":33}\n'
    state, rows = check_ledger(worker)
    assert len(rows) == 21 + 3 + 1 and not state.live
    causes = sorted(event["cause"] for event in state.parked.values())
    assert causes == ["conflict", "malformed", "malformed", "permanent", "permanent", "poison_cap", "poison_cap"]

    nothing_left = worker.run_until_idle(expect=[0])
    assert nothing_left.stdout == '{"committed":0,"duplicate":0,"requeued":0,"parked":0,"merged":0,"seen":0,"intake":0}\n'
    assert check_ledger(worker) == (state, rows)


def test_a_poison_read_is_parked_by_the_replay_that_reaches_the_cap_with_its_last_error(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker(config={"replay.backoff.initial": "20ms", "replay.backoff.factor": 2})
    refuse(sql, "no_bad_meters")
    produce(kafka, names.source, bad([1]))
    requeued = 0
    while not read_state(kafka, names).parked:
        requeued += worker.run_until_idle().stats["requeued"]
    assert requeued == 3
    state, _ = check_ledger(worker)
    ((_, event),) = state.parked.items()
    entry = event["entry"]
    assert (event["event"], event["cause"], entry["reason"]) == ("parked", "poison_cap", "poison")
    assert (entry["attempts"], entry["replays"]) == (5, 4)
    assert (entry["error"]["class"], entry["error"]["code"]) == ("postgres", "23514")
    assert "no_bad_meters" in entry["error"]["message"]
    dues = [entry["due_utc"] - entry["last_seen_utc"] for _, entry in state.history if entry and entry["replays"]]
    assert [0.01 * 2**n <= due.total_seconds() < 0.02 * 2**n for n, due in enumerate(dues)] == [True] * 3, dues


def test_a_permanent_dead_letter_is_parked_without_a_replay_and_parks_the_live_entry_it_merges_with(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, good([1]) + good([2], reason="permanent_4xx"))
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    produce(kafka, names.source, good([1], reason="permanent_4xx"))
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    assert worker.run_until_idle(expect=[0], config={"replay.auto": "true"}).stats["committed"] == 0
    state, rows = check_ledger(worker)
    assert not state.live and not rows
    parked = {key: (event["cause"], event["entry"]["reason"], event["entry"]["attempts"]) for (key, _), event in state.parked.items()}
    assert parked == {read_key(1): ("permanent", "permanent_4xx", 2), read_key(2): ("permanent", "permanent_4xx", 1)}


# --- malformed -------------------------------------------------------------------------------------------------------

KEY = read_key(1)
FULL = '"meter_id": "MTR-00000001", "read_at": "2026-07-17T00:00:00Z", "sequence": 1'

MALFORMED = [
    # key, payload, what the error says
    (None, '{"kwh": "1"}', "no idempotency key"),
    ("MTR-00000001", '{"kwh": "1"}', "no idempotency key"),
    ("MTR-00000001|2026-07-17T00:00:00|1", '{"kwh": "1"}', "no idempotency key"),
    (KEY, None, "no payload"),
    (KEY, b"", "empty payload"),
    (KEY, "kwh=1", "not JSON"),
    (KEY, "{", "not JSON"),
    (KEY, "1.5", "not a JSON object"),
    (KEY, "{}", "no amount"),
    (KEY, '{"kwh": null}', "no amount"),
    (KEY, '{"kwh": "corrupt"}', "amount"),
    (KEY, '{"kwh": ""}', "amount"),
    (KEY, '{"kwh": "NaN"}', "amount"),
    (KEY, '{"kwh": NaN}', "not JSON"),
    (KEY, '{"kwh": "Infinity"}', "amount"),
    (KEY, '{"kwh": "0x1F"}', "amount"),
    (KEY, '{"kwh": "1,5"}', "amount"),
    (KEY, '{"kwh": true}', "kwh is not a number or string"),
    (KEY, '{"kwh": {"value": 1}}', "kwh is not a number or string"),
    (None, '{"meter_id": "1", "read_at": "2026-07-17T00:00:00", "sequence": 1, "kwh": "1"}', "no offset"),
    (KEY, '{"kwh": "1", "read_at": "2026-07-17T00:00:00"}', "no offset"),
    (KEY, '{"kwh": "1", "read_at": "yesterday"}', "read_at is no instant"),
    (KEY, '{"kwh": "1", "sequence": -1}', "sequence"),
    (KEY, '{"kwh": "1", "meter_id": "MTR-00000002"}', "key and payload disagree on meter_id"),
    (KEY, '{"kwh": "1", "read_at": "2026-07-17T00:15:00Z"}', "key and payload disagree on read_at"),
    (KEY, '{"kwh": "1", "sequence": 2}', "key and payload disagree on sequence"),
    (KEY, '[{"kwh": "1"}, {"kwh": "2"}]', "several reads"),
    (KEY, f'[{{{FULL}, "kwh": "1"}}]', "several reads"),
    (KEY, '{"kwh": "1"} {"kwh": "2"}', "more bytes after"),
    (KEY, '{"kwh": "1"}x', "more bytes after"),
    (KEY, '{"kwh": "1", "kwh": "1"}', "repeated field kwh"),
    (KEY, '{"kwh": "1", "quality": "\\u0000"}', "NUL"),
    (KEY, b'{"kwh": "1"}\0', "NUL"),
    (KEY, b'{"kwh": "1", "quality": "\xff\xfe"}', "not valid UTF-8"),
    (b"MTR-\xff|2026-07-17T00:00:00Z|1", '{"kwh": "1"}', "not UTF-8"),
    (KEY, '{"kwh": "1", "a": ' + "[" * 100 + "]" * 100 + "}", "deeper than 64"),
    (KEY, b"\x80\x81\x82", "not valid UTF-8"),
]


def test_whatever_is_malformed_is_parked_at_once_verbatim_with_the_reason_under_the_key_of_its_place(
    worker, kafka, names, check_ledger
):
    produce(kafka, names.source, [dead_letter(key, payload, partition=0) for key, payload, _ in MALFORMED])
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["parked"], stats["intake"]) == (len(MALFORMED), len(MALFORMED))
    state, rows = check_ledger(worker)
    assert not rows and not state.history
    parked = parked_by_offset(state)
    for offset, (key, payload, why) in enumerate(MALFORMED):
        event, entry = parked[offset], parked[offset]["entry"]
        assert entry["idempotency_key"] == f"{names.source}-0-{offset}"
        assert entry["record_key"] == (key.encode() if isinstance(key, str) else key)
        assert entry["payload"] == (payload.encode() if isinstance(payload, str) else payload)
        assert (event["event"], event["cause"], entry["error"]["class"]) == ("parked", "malformed", "malformed")
        assert why in entry["error"]["message"], (payload, entry["error"])
        assert entry["attempts"] == 1


def test_a_read_larger_than_our_topics_take_is_parked_as_a_pointer(worker, kafka, names, check_ledger):
    kafka.kafka_tool(
        "configs", "--alter", "--entity-type", "topics", "--entity-name", names.source, "--add-config", "max.message.bytes=4000000"
    )
    payload = '{"kwh": "1", "note": "' + "x" * 2_000_000 + '"}'
    limits = {"message.max.bytes": 4_000_000}
    produce(kafka, names.source, [dead_letter(KEY, payload)] + good([2]), **limits)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (1, 1)
    state, _ = check_ledger(worker)
    (event,) = state.parked.values()
    entry = event["entry"]
    assert (event["cause"], entry["payload"], entry["record_key"]) == ("oversize", None, KEY.encode())
    assert entry["dead_letter"] == {"topic": names.source, "partition": 0, "offset": 0}
    assert f"payload of {len(payload)} bytes" in entry["error"]["message"]


# --- conflicts -------------------------------------------------------------------------------------------------------


def assert_conflict(state, sql, winner, loser):
    assert sql("SELECT idempotency_key, kwh FROM meter_read") == f"{KEY}|{winner}"
    (event,) = state.parked.values()
    assert (event["event"], event["cause"]) == ("parked", "conflict")
    assert event["entry"]["payload"] == f'{{"kwh": "{loser}"}}'.encode()
    committed = json.loads(event["committed"])
    assert committed["kwh"] == winner and committed["meter_id"] == "MTR-00000001" and committed["sequence"] == 1
    assert datetime.fromisoformat(committed["read_at"]) == datetime(2026, 7, 17, tzinfo=UTC)


def test_other_content_than_the_committed_row_is_parked_and_the_row_stays(worker, kafka, names, sql, check_ledger):
    commit_live(sql, KEY, "1.25")
    produce(kafka, names.source, [dead_letter(KEY, '{"kwh": "2"}')])
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    state, _ = check_ledger(worker)
    assert_conflict(state, sql, "1.25", "2")


def test_two_contents_of_one_key_in_one_batch_are_two_entries_of_which_the_first_commits(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, [dead_letter(KEY, f'{{"kwh": "{kwh}"}}') for kwh in ("1", "2", "1.0", "2")])
    worker.run_until_idle(expect=[0])
    state, _ = check_ledger(worker)
    assert sorted(entry["attempts"] for entry in state.live.values()) == [2, 2]
    worker.run_until_idle(expect=[1], config={"replay.auto": "true"})
    state, _ = check_ledger(worker)
    winner, loser = sql("SELECT kwh FROM meter_read"), "2"
    if winner == "2":
        winner, loser = "2", "1.0"
    assert_conflict(state, sql, winner, loser)


def test_two_contents_of_one_key_in_two_batches_are_a_row_and_a_conflict(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config={"batch.max.records": 1})
    produce(kafka, names.source, [dead_letter(KEY, f'{{"kwh": "{kwh}"}}') for kwh in ("1", "2")])
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"], stats["merged"]) == (1, 1, 0)
    state, _ = check_ledger(worker)
    # Which of them is first depends on when Postgres has answered the first probe.
    winner = sql("SELECT kwh FROM meter_read")
    assert_conflict(state, sql, winner, {"1": "2", "2": "1"}[winner])


# --- values ----------------------------------------------------------------------------------------------------------

AMOUNTS = [
    ('"12.50"', "12.50"),
    ("12.50", "12.50"),
    ('"0"', "0"),
    ("-0.010", "-0.010"),
    ('"12345678901234567890.123456789012345678"', "12345678901234567890.123456789012345678"),
    ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
    ("1E3", "1000"),
    ("1.50e-3", "0.00150"),
    ('"+7"', "7"),
    ('"007.0"', "7.0"),
]


def test_an_amount_reaches_numeric_digit_by_digit(worker, kafka, names, sql, check_ledger):
    produce(kafka, names.source, [dead_letter(read_key(n), f'{{"kwh": {text}}}') for n, (text, _) in enumerate(AMOUNTS)])
    assert worker.run_until_idle(expect=[0]).stats["committed"] == len(AMOUNTS)
    rows = sql("SELECT kwh FROM meter_read ORDER BY idempotency_key").splitlines()
    assert rows == [kwh for _, kwh in AMOUNTS]
    check_ledger(worker)


def test_every_field_reaches_its_column_and_all_others_the_attributes(worker, kafka, names, sql, check_ledger):
    attributes = '{"register": {"factor": 1.10, "phases": [1, null, true]}, "note": "Zähler \\"7\\"\\n", "big": 12345678901234567890.10}'
    payload = {
        "meter_id": "0042",
        "read_at": "2026-07-17T02:00:00.123456+02:00",
        "sequence": "9223372036854775807",
        "kwh": "-1.50",
        "reading_type": "1-0:2.8.0*255",
        "quality": "E14",
    }
    text = json.dumps(payload)[:-1] + ", " + attributes[1:]
    produce(kafka, names.source, [dead_letter(None, text)])
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 1
    columns = "idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality"
    assert sql(f"SELECT {columns} FROM meter_read").split("|") == [
        *("0042", "2026-07-17T02:00:00.123456+02:00", "9223372036854775807"),  # the key, joined by bars
        *("0042", "2026-07-17 00:00:00.123456+00", "9223372036854775807", "-1.50", "1-0:2.8.0*255", "E14"),
    ]
    assert sql(f"SELECT attributes = $json${attributes}$json$::jsonb FROM meter_read") == "t"
    assert sql("SELECT attributes->'register'->>'factor', attributes->>'big' FROM meter_read") == "1.10|12345678901234567890.10"
    check_ledger(worker)


def test_the_idempotency_key_comes_from_record_key_header_or_payload_in_this_order(worker, kafka, names, sql, check_ledger):
    produce(
        kafka,
        names.source,
        [
            dead_letter(read_key(1), '{"kwh": "1"}', headers=[("idempotency-key", read_key(9))]),
            dead_letter("MTR-00000002", '{"kwh": "2"}', headers=[("idempotency-key", read_key(2))]),
            dead_letter(None, '{"meter_id": "3", "read_at": "2026-07-17T00:00:00Z", "sequence": 0, "kwh": "3"}'),
        ],
    )
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 3
    rows = sql("SELECT kwh, idempotency_key FROM meter_read ORDER BY kwh").splitlines()
    assert rows == [f"1|{read_key(1)}", f"2|{read_key(2)}", "3|3|2026-07-17T00:00:00Z|0"]
    check_ledger(worker)


HEADERS = [
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", b"a=1"),
    ("tracestate", b"b=2"),  # repeated
    ("null", None),
    ("empty", b""),
    ("bytes", bytes(range(256))),
    ("dlq-error-class", b"java.net.SocketTimeoutException"),
    ("dlq-error-code", b"504"),
    ("dlq-error-message", b"downstream timed out"),
]


def test_headers_and_bytes_travel_unchanged_into_the_entry_and_the_parked_record(new_worker, kafka, names, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY)
    payload = '{ "kwh" : 12.50,\t"quality": "\\u0041" }'
    for reason in ("retries_exhausted", "permanent_4xx"):
        produce(kafka, names.source, [dead_letter(KEY, payload, reason=reason, headers=HEADERS)])
        worker.run_until_idle()
        state = read_state(kafka, names)
        ((_, entry),) = [*state.live.items()] or [(key, event["entry"]) for key, event in state.parked.items()]
        assert entry["payload"] == payload.encode() and entry["record_key"] == KEY.encode()
        assert headers_of(entry) == [("dlq-reason", reason.encode()), *HEADERS]
        assert entry["error"] == {
            "class": "java.net.SocketTimeoutException",
            "code": "504",
            "message": "downstream timed out",
        }
    assert [event["cause"] for event in state.parked.values()] == ["permanent"]
    check_ledger(worker)


# --- merging ---------------------------------------------------------------------------------------------------------


def test_dead_letters_of_one_read_merge_into_one_entry_whatever_partition_and_order_they_come_in(
    new_worker, kafka, names, check_ledger
):
    create_topic(kafka, names.source, 3)
    worker = new_worker(config=TAKE_IN_ONLY)
    now = int(time.time() * 1000)
    times = [now - 5000, now - 60000, now - 1000, now - 30000]
    payloads = ['{"kwh": "12.5"}', '{"kwh": 12.50}', '{"kwh":"1.25e1"}', '{"kwh": "12.500", "note": 1}']
    for n, (timestamp, payload) in enumerate(zip(times, payloads, strict=True)):
        reason = "poison" if timestamp == max(times) else "retries_exhausted"
        produce(kafka, names.source, [dead_letter(KEY, payload, reason, partition=n % 3, timestamp=timestamp)])
        assert worker.run_until_idle(expect=[0]).stats["merged"] == (n > 0)
    state = read_state(kafka, names)
    (entry,) = state.live.values()
    assert (entry["attempts"], entry["replays"], entry["reason"]) == (4, 0, "poison")
    assert round(entry["first_seen_utc"].timestamp() * 1000) == min(times)
    assert round(entry["last_seen_utc"].timestamp() * 1000) == max(times)
    assert entry["payload"] == payloads[-1].encode()
    assert entry["dead_letter"] == {"topic": names.source, "partition": 0, "offset": 1}
    assert entry["due_utc"] == next(entry["due_utc"] for _, entry in state.history if entry)
    check_ledger(worker)


# --- the live pipeline -----------------------------------------------------------------------------------------------


def test_a_queued_read_that_the_live_pipeline_commits_meanwhile_is_a_duplicate_and_its_row_stays(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, good([1]))
    worker.run_until_idle(expect=[0])
    commit_live(sql, KEY, "1.5")
    row = sql("SELECT *, xmin FROM meter_read")
    stats = worker.run_until_idle(expect=[0], config={"replay.auto": "true"}).stats
    assert (stats["duplicate"], stats["committed"]) == (1, 0)
    assert sql("SELECT *, xmin FROM meter_read") == row
    state, _ = check_ledger(worker)
    assert not state.live and not state.parked


def test_a_parked_read_that_the_live_pipeline_commits_is_settled_in_the_ledger(worker, kafka, names, sql, check_ledger):
    produce(kafka, names.source, good([1], reason="permanent_4xx"))
    worker.run_until_idle(expect=[1])
    commit_live(sql, KEY, "1.5")
    check_ledger(worker)
    assert worker.audit().ledger[0]["settled"] == 1


# --- expiry ----------------------------------------------------------------------------------------------------------


def test_an_entry_past_its_time_is_parked_as_expired_and_nothing_younger(new_worker, kafka, names, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY | {"expire.after": "3s"})
    produce(kafka, names.source, good([1]))
    worker.run_until_idle(expect=[0])
    (old,) = read_state(kafka, names).live.values()
    wait_until(lambda: (datetime.now(UTC) - old["due_utc"]).total_seconds() > 3, what="the entry to expire")
    produce(kafka, names.source, good([2]))
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    state, _ = check_ledger(worker)
    (event,) = state.parked.values()
    assert (event["event"], event["cause"], event["entry"]) == ("parked", "expired", old)
    assert [key for key, _ in state.live] == [read_key(2)]

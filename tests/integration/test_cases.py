"""Cases from users of other systems: records at the edges of what Kafka takes, and sources in motion."""

import bisect
import hashlib
import random
import re
from datetime import UTC, datetime

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewPartitions
from conftest import (
    bad,
    check_attempts,
    commit_live,
    create_topic,
    dead_letter,
    good,
    load,
    log_inserts,
    produce,
    read_key,
    read_state,
    refuse,
    wait_drained,
    wait_until,
)

MESSAGE_BYTES = 1048588  # what a topic takes by default
ANY_SIZE = {"message.max.bytes": 2 * MESSAGE_BYTES}  # librdkafka's own limit is out of the way
INSTANT = "2026-07-17T00:00:00+00:00"


def whole(meter):
    return f'{{"meter_id":"{meter}","read_at":"{INSTANT}","sequence":1,"kwh":"1.5"}}'


def key_of(meter):
    return f"{meter}|{INSTANT}|1"


# --- any record that Kafka takes -------------------------------------------------------------------------------------


def passes_of_connect(passes, trace_bytes):
    """The headers after a record has gone round through a sink that keeps failing, with a new error each time."""
    headers = []
    for n in range(passes):
        said = {"topic": "reads" if n == 0 else "retries", "partition": n, "offset": n, "stage": "TASK_PUT"}
        said |= {"exception.class.name": f"a.Error{n}", "exception.message": f"pass {n}", "exception.stacktrace": "x" * trace_bytes}
        headers += [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
    return headers


TIMESTAMPS = {  # Kafka takes any number as milliseconds
    "NONE": -1,
    "SECONDS": 1784246400,
    "MICROSECONDS": 1784246400000000,
    "YEAR-2100": 4102444800000,
}

COPIES = 10000


def test_records_at_the_edges_of_what_kafka_takes_become_entries_as_they_are(new_worker, kafka, names, check_ledger):
    create_topic(kafka, names.source, 12, message_timestamp_after_max_ms=2**62, retention_ms=-1)
    worker = new_worker(partitions=5, config={"replay.auto": "false"})
    long_key = "K" * 65536
    grown = passes_of_connect(passes=50, trace_bytes=8192)
    before = datetime.now(UTC)
    produce(
        kafka,
        names.source,
        [dead_letter(key_of("GROWN"), '{"kwh":"1.5"}', headers=grown)]
        + [dead_letter("", whole("EMPTY-KEY")), dead_letter(None, whole("NULL-KEY")), dead_letter(long_key, whole("LONG-KEY"))]
        + [dead_letter(key_of("HEADERS"), '{"kwh":"1.5"}', headers=[("null", None), ("empty", b""), ("", b"no name")])]
        + [dead_letter(key_of("TOMBSTONE"), None)]
        + [dead_letter(key_of(meter), '{"kwh":"1.5"}', timestamp=ms) for meter, ms in TIMESTAMPS.items()]
        + [dead_letter(key_of("OFTEN"), '{"kwh":"1.5"}', partition=n % 12) for n in range(COPIES)],
    )
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["merged"], stats["parked"], stats["intake"]) == (COPIES - 1, 1, COPIES + 10)

    state, _ = check_ledger(worker)
    entries = {entry["idempotency_key"].split("|")[0]: entry for entry in state.live.values()}
    assert entries["OFTEN"]["attempts"] == COPIES
    record_keys = [entries[meter]["record_key"] for meter in ("EMPTY-KEY", "NULL-KEY", "LONG-KEY")]
    assert record_keys == [b"", None, long_key.encode()]
    headers = [(header["key"], header["value"]) for header in entries["HEADERS"]["headers"]]
    assert headers == [("dlq-reason", b"retries_exhausted"), ("null", None), ("empty", b""), ("", b"no name")]
    for meter in TIMESTAMPS:  # when it arrived
        assert before <= entries[meter]["first_seen_utc"] == entries[meter]["last_seen_utc"] <= datetime.now(UTC), meter
    assert_grown(entries["GROWN"], grown)
    (tombstone,) = (event["entry"] for event in state.parked.values())
    assert (tombstone["record_key"], tombstone["payload"]) == (key_of("TOMBSTONE").encode(), None)

    stats = worker.run_until_idle(expect=[0], config={"replay.auto": "true"}).stats
    assert stats["committed"] == len(entries) == 10
    check_ledger(worker)


def assert_grown(entry, headers):
    """The true origin, the newest error and the bound have held; what was left out is counted."""
    assert entry["origin"] == {"topic": "reads", "partition": 0, "offset": 0}
    assert (entry["error"]["class"], entry["error"]["message"]) == ("a.Error49", "pass 49")
    kept = sum(len(header["key"]) + len(header["value"]) for header in entry["headers"])
    sent = sum(len(name) + len(value) for name, value in [*headers, ("dlq-reason", b"retries_exhausted")])
    assert 30_000 < kept <= 32768 and entry["headers_cut"] == sent - kept


# --- sizes -----------------------------------------------------------------------------------------------------------


def sized(meter, payload_bytes, **options):
    head, tail = '{"kwh":"1.5","note":"', '"}'
    return dead_letter(key_of(meter), head + "x" * (payload_bytes - len(head) - len(tail)) + tail, **options)


def largest_that_is_taken(kafka, topic):
    """Tries sizes up to the largest that the broker takes; returns the keys of all that it took, by size."""
    producer, taken = confluent_kafka.Producer(kafka.client_config() | ANY_SIZE), {}

    def refused(n):
        record, errors = sized(f"N{n}", n), []
        producer.produce(topic, on_delivery=lambda error, _: errors.append(error), **record)
        assert producer.flush(30) == 0
        if errors[0] is None:
            taken[n] = record["key"].decode()
        return errors[0] is not None

    sizes = range(MESSAGE_BYTES - 255, MESSAGE_BYTES + 1)  # 255: more than what Kafka puts around it
    assert sizes[bisect.bisect(sizes, False, key=refused) - 1] == max(taken)
    return taken


def test_a_payload_up_to_the_limit_of_its_topic_or_ours_is_an_entry_and_one_byte_more_a_pointer(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker()
    taken = largest_that_is_taken(kafka, names.source)
    raise_limit(kafka, names.source)
    produce(kafka, names.source, [sized("PROBE", MESSAGE_BYTES)], **ANY_SIZE)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (len(taken), 1)
    assert sql(f"SELECT 1 FROM meter_read WHERE idempotency_key = '{taken[max(taken)]}'") == "1"

    (event,) = read_state(kafka, names).parked.values()
    total, fits = map(int, re.search(r"with key and headers (\d+) bytes, at most (\d+) fit", event["entry"]["error"]["message"]).groups())
    just = MESSAGE_BYTES - (total - fits)
    too_large = sized("LARGE", just + 1)
    produce(kafka, names.source, [sized("FITS-", just), too_large], **ANY_SIZE)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (1, 1)
    state, _ = check_ledger(worker)
    events = {event["entry"]["record_key"]: event for event in state.parked.values()}
    event = events[key_of("LARGE").encode()]
    assert (event["cause"], event["entry"]["payload"]) == ("oversize", None)
    sha256 = hashlib.sha256(too_large["value"]).hexdigest()
    assert f"payload of {just + 1} bytes, sha256 {sha256}" in event["entry"]["error"]["message"]


def raise_limit(kafka, topic):
    limit = f"max.message.bytes={2 * MESSAGE_BYTES}"
    kafka.kafka_tool("configs", "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", limit)


def test_a_key_that_our_records_cannot_repeat_and_a_row_too_large_to_be_shown_stop_nothing(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker()
    commit_live(sql, read_key(1), "1")
    sql(f"UPDATE meter_read SET attributes = jsonb_build_object('note', repeat('x', {MESSAGE_BYTES}))")
    conflicting = sized("x", MESSAGE_BYTES - 200) | {"key": read_key(1).encode()}
    huge_key, unindexed_key = key_of("M" * 500_000), key_of(random.randbytes(15_000).hex())
    records = [dead_letter(key, '{"kwh":"1.5"}') for key in (huge_key, unindexed_key)]
    produce(kafka, names.source, [*records, conflicting, *good([2])], **ANY_SIZE)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (1, 3)
    state, _ = check_ledger(worker)
    events = {event["cause"]: event for event in state.parked.values()}
    assert events["poison_cap"]["entry"]["idempotency_key"] == unindexed_key
    assert events["malformed"]["entry"]["record_key"] == huge_key.encode()
    assert "longer than 32768 bytes" in events["malformed"]["entry"]["error"]["message"]
    assert events["conflict"]["entry"]["payload"] == conflicting["value"]
    assert re.search(r"a row of 10\d{5} bytes", events["conflict"]["committed"])


# --- sources in motion -----------------------------------------------------------------------------------------------


def test_a_source_of_12_partitions_that_gets_more_under_load_loses_and_doubles_nothing_in_a_dlq_of_5(
    new_worker, kafka, names, sql, check_ledger
):
    create_topic(kafka, names.source, 12)
    worker = new_worker(partitions=5)
    refuse(sql)
    log_inserts(sql)
    running = [worker.start(), worker.start()]
    with load(kafka, names.source) as numbers:
        for one in running:
            one.wait_restored()
        admin = AdminClient(kafka.client_config())
        admin.create_partitions([NewPartitions(names.source, 15)])[names.source].result(30)
        new = [record | {"partition": 14} for record in good(range(10**6, 10**6 + 20)) + bad([10**6])]
        produce(kafka, names.source, new)
        wait_until(lambda: sql(f"SELECT 1 FROM meter_read WHERE idempotency_key = '{read_key(10**6)}'"), what="a read of the new ones")
    wait_drained(kafka, names)
    assert [one.terminate() for one in running] == [0, 0]
    state, rows = check_ledger(worker)
    check_attempts(state, copies=2)
    assert len(rows) + len(state.parked) == len(numbers) + len(new)
    assert sql("SELECT key FROM inserts GROUP BY key HAVING count(*) > 1") == ""

"""Dead letters that a share group left without key and value: the read is still where it came from."""

import random
import sys

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from conftest import ROOT, create_topic, dead_letter, delete_offsets, produce, read_key, wait_until

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

import programs  # noqa: E402

GROUP = "readers"


@pytest.fixture
def originals(kafka, names):
    """The topic whose records the share group gave up."""
    topic = f"{names.prefix}.reads"
    create_topic(kafka, topic, 3)
    create_topic(kafka, names.source, 3)
    return topic


def pointer(topic, partition, offset, headers=()):
    told = {"topic": topic, "partition": partition, "offset": offset, "group": GROUP, "delivery.count": 5}
    return {"key": None, "value": None, "headers": [*headers, *((f"__dlq.errors.{k}", str(v)) for k, v in told.items())]}


def delete_before(kafka, topic, offsets):
    wanted = [confluent_kafka.TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    admin = AdminClient(kafka.client_config())
    for done in admin.delete_records(wanted).values():
        done.result(30)


def amounts(sql):
    return dict(line.rsplit("|", 1) for line in sql("SELECT idempotency_key, kwh FROM meter_read").splitlines())


def test_the_read_is_fetched_where_the_pointer_says_with_the_headers_of_both(new_worker, kafka, names, sql, originals):
    worker = new_worker(config={"batch.max.records": 40})
    reads = [dead_letter(read_key(n), f'{{"kwh": "{n}.5"}}', headers=[("n", str(n))], partition=n % 3) for n in range(300)]
    produce(kafka, originals, reads)
    pointers = [pointer(originals, n % 3, n // 3, headers=[("seen", str(n))]) for n in range(300)]
    random.Random(5).shuffle(pointers)
    produce(kafka, names.source, pointers)
    assert worker.run_until_idle(expect=[0], config={"replay.auto": "false"}).stats["intake"] == 300
    for entry in worker.list():
        headers = {header["key"]: header["value"] for header in entry["headers"]}
        number = headers["n"]
        assert headers["seen"] == number and headers["__dlq.errors.group"] == GROUP
        assert entry["record_key"] == read_key(int(number)) and entry["payload"] == f'{{"kwh": "{number}.5"}}'
        assert entry["origin"] == {"topic": originals, "partition": int(number) % 3, "offset": int(number) // 3}
        assert (entry["dead_letter"]["topic"], entry["upstream_attempts"], entry["attempts"]) == (names.source, 5, 1)
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 300
    assert amounts(sql) == {read_key(n): f"{n}.5" for n in range(300)}
    assert sum(line["settled"] for line in worker.audit().ledger) == 300
    # What retention takes later, the audit cannot read any more; it says so, and calls nothing missing.
    delete_before(kafka, originals, {0: 10})
    result = worker.audit()
    assert result.stderr.count("cannot be told: ") == 10 and sum(line["settled"] for line in result.ledger) == 290


def test_a_pointer_to_what_is_not_there_is_parked_as_original_gone_and_costs_the_others_nothing(
    new_worker, kafka, names, sql, originals
):
    worker = new_worker()
    produce(kafka, originals, [dead_letter(read_key(n), f'{{"kwh": "{n}.5"}}', partition=0) for n in range(20)])
    delete_before(kafka, originals, {0: 5})
    gone = {
        (originals, 0, 4): "no longer holds it",
        (originals, 0, 999): "ends before it",
        (originals, 1, 0): "ends before it",
        (originals, 7, 0): "no such topic or partition",
        (f"{names.prefix}.nowhere", 0, 0): "no such topic or partition",
        ("kQlXhYVBT6GM7iHEpiTvHw", 0, 3): "no such topic or partition",
    }
    produce(kafka, names.source, [pointer(originals, 0, n) for n in range(5, 20)] + [pointer(*place) for place in gone])
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"], stats["intake"]) == (15, len(gone), 15 + len(gone))
    parked = worker.list(parked=True)
    assert {event["cause"] for event in parked} == {"original_gone"}
    reasons = {(o["topic"], o["partition"], o["offset"]): event["entry"]["error"]["message"] for event in parked for o in [event["entry"]["origin"]]}
    for place, why in gone.items():
        assert why in reasons[place], reasons
    ledger = worker.audit().ledger
    assert sum(line["settled"] for line in ledger) == 15 and sum(line["parked"] for line in ledger) == len(gone)


def test_a_read_that_was_not_at_hand_is_taken_in_after_a_rewind_once_it_is(new_worker, kafka, names, sql, originals):
    worker = new_worker()
    produce(kafka, names.source, [pointer(originals, 0, 0)])
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    produce(kafka, originals, [dead_letter(read_key(1), '{"kwh": "1.5"}', partition=0)])
    delete_offsets(kafka, names)
    assert worker.run_until_idle(expect=[0, 1]).stats["committed"] == 1
    assert amounts(sql) == {read_key(1): "1.5"} and len(worker.list(parked=True)) == 1
    worker.audit()


def test_many_pointers_each_written_right_after_its_original_are_all_followed(new_worker, kafka, names, sql, originals):
    worker = new_worker()
    running = worker.start()
    running.wait_restored()
    for n in range(60):
        produce(kafka, originals, [dead_letter(read_key(n), f'{{"kwh": "{n}.5"}}', partition=0)], **{"linger.ms": 0})
        produce(kafka, names.source, [pointer(originals, 0, n)], **{"linger.ms": 0})
    wait_until(lambda: len(amounts(sql)) == 60, what="all")
    assert running.terminate() == 0 and worker.list(parked=True) == []


def test_pointers_are_handed_over_and_followed_by_two_workers_once(new_worker, kafka, names, sql, originals):
    worker = new_worker()
    produce(kafka, originals, [dead_letter(read_key(n), f'{{"kwh": "{n}.5"}}', partition=n % 3) for n in range(150)])
    running = [worker.start(), worker.start()]
    for one in running:
        one.wait_restored()
    produce(kafka, names.source, [pointer(originals, n % 3, n // 3) for n in range(150)] * 2)
    wait_until(lambda: len(amounts(sql)) == 150, what="all")
    assert [one.terminate() for one in running] == [0, 0]
    assert worker.run_until_idle(expect=[0]).stats["parked"] == 0
    worker.audit()


def test_what_a_real_share_group_pointed_to_becomes_what_it_copied(new_worker, kafka, names, sql):
    """Its pointers and its copies (tests/fixtures) are of the same records of `share.reads`."""
    recorded = programs.load("share")
    pointers = [record for record in recorded if record["topic"] == "dlq.pointers"]
    copies = [record for record in recorded if record["topic"] == "dlq.copies"]
    create_topic(kafka, "share.reads", 4)
    create_topic(kafka, names.source, 1, retention_ms=-1)
    produce(kafka, "share.reads", [{"key": copy["key"], "value": copy["value"], "partition": 3} for copy in copies])
    worker = new_worker()

    def take(records):
        produce(kafka, names.source, [{field: record[field] for field in ("key", "value", "headers", "timestamp")} for record in records])
        stats = worker.run_until_idle(expect=[0, 1]).stats
        parked = worker.list(parked=True)
        return stats, sorted((event["cause"], event["entry"]["record_key"] or "", str(event["entry"]["payload"])) for event in parked)

    stats, parked = take(pointers)
    assert (stats["intake"], stats["committed"]) == (6, 4) and [cause for cause, *_ in parked] == ["malformed"] * 2
    again, parked_again = take(copies)
    assert (again["duplicate"], again["committed"]) == (4, 0) and parked_again == sorted(parked * 2)
    worker.audit()
    admin = AdminClient(kafka.client_config())
    admin.delete_topics(["share.reads"])["share.reads"].result(30)

"""The log cleaner at work on the DLQ while the worker uses it."""

import reader
from conftest import bad, check_attempts, create_topic, good, load, produce, read_state, refuse, reset_offsets, wait_drained, wait_until

TAKE_IN_ONLY = {"replay.auto": "false"}
# What is closed is cleaned at once, and tombstones go with the next pass.
EAGER = "segment.ms=500,min.compaction.lag.ms=0,min.cleanable.dirty.ratio=0.01,delete.retention.ms=1"


def compact_eagerly(kafka, names):
    kafka.kafka_tool("configs", "--alter", "--entity-type", "topics", "--entity-name", names.dlq, "--add-config", EAGER)


def offsets_in(kafka, names):
    """(partition, offset) of all records that are still in the DLQ."""
    return {(m.partition(), m.offset()) for m in reader.read_topic(kafka.client_config(), names.dlq)}


def wait_cleaned(kafka, names, worker, gone):
    """Until none of these records is left. A segment is closed by a record that comes after its time, which the worker writes
    (a checkpoint at least) for each dead letter that it takes in."""
    number = iter(range(10**6, 2 * 10**6))

    def cleaned():
        for _ in range(4):
            produce(kafka, names.source, good([next(number) for _ in range(30)]))
        worker.run_until_idle(config=TAKE_IN_ONLY)
        return not gone & offsets_in(kafka, names)

    wait_until(cleaned, what="the DLQ to be cleaned", interval=0.3)


def tickets(state):
    return state.live, state.parked, state.checkpoints


def test_a_restart_on_a_compacted_dlq_restores_the_same_entries_and_goes_on_with_them(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    compact_eagerly(kafka, names)
    refuse(sql)
    produce(kafka, names.source, good(range(100)) + bad(range(10)))
    worker.run_until_idle(config=TAKE_IN_ONLY)
    superseded = offsets_in(kafka, names)
    worker.run_until_idle()  # 100 tombstones, 10 entries with a second attempt
    wait_cleaned(kafka, names, worker, superseded)

    before = read_state(kafka, names)
    listed = worker.list()
    running = worker.start(config=TAKE_IN_ONLY)
    running.wait_restored()
    wait_until(lambda: restored_entries(running) == len(before.live), what="the metrics to count the entries")
    assert running.terminate() == 0
    assert tickets(read_state(kafka, names)) == tickets(before) and worker.list() == listed
    bad_entries = [entry for entry in before.live.values() if entry["idempotency_key"].startswith("BAD")]
    assert [entry["attempts"] for entry in bad_entries] == [2] * 10

    # Tickets without their dead letters' history still know a re-read from a new one.
    reset_offsets(kafka, names)
    assert worker.run_until_idle(config=TAKE_IN_ONLY).stats["merged"] == 0
    after = read_state(kafka, names)
    assert {identity: entry["attempts"] for identity, entry in after.live.items() if identity in before.live} == {
        identity: entry["attempts"] for identity, entry in before.live.items()
    }
    worker.run_until_idle()
    state, _ = check_ledger(worker)
    assert len(state.live) == 10 and not state.parked


def restored_entries(running):
    return sum(value for name, value in running.metrics().items() if name.startswith("meter_dlq_entries{"))


def test_compaction_under_load_changes_nothing_for_the_worker_and_its_successor(new_worker, kafka, names, sql, check_ledger):
    create_topic(kafka, names.source, 2)
    worker = new_worker(partitions=2, config={"batch.max.records": 50, "replay.backoff.initial": "200ms", "instance.id": "one"})
    compact_eagerly(kafka, names)
    refuse(sql)
    with load(kafka, names.source, bad_every=5) as numbers:
        for _ in range(2):
            running = worker.start()
            running.wait_restored()
            wait_until(lambda: len(offsets_in(kafka, names)) > 200, what="records in the DLQ", interval=0.3)
            begin = offsets_in(kafka, names)
            wait_until(lambda: len(begin & offsets_in(kafka, names)) < 100, 60, "the DLQ to be cleaned", interval=0.3)  # noqa: B023
            running.kill()
        running = worker.start()
    wait_drained(kafka, names)
    assert running.terminate() == 0
    state, rows = check_ledger(worker)
    check_attempts(state, copies=2)
    assert len(rows) + len(state.parked) == len(numbers)

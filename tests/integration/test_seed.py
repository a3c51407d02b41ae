"""The pattern's own verification, assertion by assertion, with a real DLQ and a real downstream."""

from datetime import UTC, datetime

from conftest import log_inserts, wait_until

POISON_CAP = 5


def wait_due(worker):
    """A drain leaves alone what is not due, and the next one comes when it is."""
    due = max((entry["due_utc"] for entry in worker.list()), default=None)
    if due:
        wait_until(lambda: datetime.now(UTC) >= datetime.fromisoformat(due), what="the entry to be due")


def test_replay_is_idempotent_and_caps_poison(new_worker, sql, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "400ms", "replay.backoff.factor": 1})
    log_inserts(sql)

    def commits(key):
        return int(sql(f"SELECT count(*) FROM inserts WHERE key = '{key}'"))

    # An exhausted read lands in the DLQ, then replays cleanly and leaves.
    good = "MTR-00000001|2026-07-17T00:00:00+00:00|1"
    worker.put([(good, '{"kwh": "12.50"}')])
    stats = worker.run_until_idle(expect=[0]).stats
    assert stats["committed"] == 1
    assert worker.list() == []  # drained
    assert commits(good) == 1

    # Draining an empty queue again is a safe no-op.
    again = worker.run_until_idle(expect=[0]).stats
    assert set(again.values()) == {0}
    assert commits(good) == 1  # never committed twice

    # A poison read that fails every replay is parked after the cap.
    bad = "MTR-00000009|2026-07-17T00:00:00+00:00|1"
    sql("ALTER TABLE meter_read ADD CONSTRAINT corrupt CHECK (meter_id <> 'MTR-00000009')")
    worker.put([(bad, '{"kwh": "13"}')])
    drains = []
    for _ in range(POISON_CAP + 2):
        drains.append(worker.run_until_idle().stats)
        wait_due(worker)
    assert [read["entry"]["idempotency_key"] for read in worker.list(parked=True)] == [bad]  # stopped looping, escalated
    assert worker.list() == []  # not requeued for ever
    assert sum(drain["requeued"] for drain in drains) == POISON_CAP - 2
    assert sum(drain["parked"] for drain in drains) == 1
    assert commits(bad) == 0

    check_ledger(worker)


def test_a_corrupt_amount_is_parked_without_a_replay(worker, check_ledger):
    bad = "MTR-00000009|2026-07-17T00:00:00+00:00|1"
    worker.put([(bad, '{"kwh": "corrupt"}')])
    stats = worker.run_until_idle(expect=[1]).stats
    assert stats["parked"] == 1 and stats["requeued"] == 0
    (read,) = worker.list(parked=True)
    assert read["cause"] == "malformed" and read["entry"]["record_key"] == bad
    assert worker.list() == []
    check_ledger(worker)

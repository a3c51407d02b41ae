"""kill -9 at each named crash point, then a restart: nothing is lost or doubled, and attempts are right."""

import pytest
from conftest import bad, check_attempts, dead_letter, good, load, log_inserts, produce, read_key, refuse, wait_drained

KILLED = -9
TAKE_IN_ONLY = {"replay.auto": "false"}
# With a stable name a restart takes over at once, without it after the session and the transaction have timed out.
STATIC = {"instance.id": "worker-1", "batch.max.records": 100}
DYNAMIC = {"batch.max.records": 100, "kafka.session.timeout.ms": 2000, "kafka.transaction.timeout.ms": 2000}


def crash(worker, point, **config):
    assert worker.start(config=config | {"crash.at": point}).wait() == KILLED


def some_of_each(first):
    """250 dead letters of 200 good, 5 bad, 1 permanent and 1 malformed read."""
    numbers = range(first, first + 200)
    return [
        *good(numbers),
        *good(list(numbers)[:43]),
        *bad(range(first, first + 5)),
        *good([first + 900], reason="permanent_4xx"),
        dead_letter(read_key(first + 901), "{"),
    ]


def assert_settled_once(state, rows, sql, times):
    check_attempts(state, copies=2)
    assert not state.live
    assert len(rows) == 200 * times and len(state.parked) == 7 * times
    assert sql("SELECT key FROM inserts GROUP BY key HAVING count(*) > 1") == ""


POINTS = ["after-sink-commit", "after-produce", "after-send-offsets", "after-kafka-commit"]
# The pending offsets of the dead are what its successor waits for.
QUICK = [(point, STATIC) for point in POINTS] + [("after-send-offsets", DYNAMIC)]
SLOW = [(point, DYNAMIC) for point in POINTS if point != "after-send-offsets"]


@pytest.mark.parametrize(
    ("point", "member"),
    [*QUICK, *(pytest.param(*slow, marks=pytest.mark.long) for slow in SLOW)],
    ids=lambda v: v if isinstance(v, str) else "static" if v is STATIC else "dynamic",
)
def test_killed_while_it_takes_in_and_while_it_settles_it_goes_on_as_if_nothing_had_been(
    new_worker, kafka, names, sql, check_ledger, point, member
):
    worker = new_worker(config=member)
    refuse(sql)
    log_inserts(sql)
    produce(kafka, names.source, some_of_each(0))
    crash(worker, point)
    worker.run_until_idle(config=TAKE_IN_ONLY)
    produce(kafka, names.source, some_of_each(1000))
    crash(worker, point)
    worker.run_until_idle(config=TAKE_IN_ONLY)
    crash(worker, point)
    worker.run_until_idle()
    assert_settled_once(*check_ledger(worker), sql, times=2)


def test_killed_in_restore_it_restores_again(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=STATIC)
    refuse(sql)
    log_inserts(sql)
    produce(kafka, names.source, some_of_each(0))
    worker.run_until_idle(config=TAKE_IN_ONLY)
    before, _ = check_ledger(worker)
    for _ in range(3):
        crash(worker, "in-restore")
    after, _ = check_ledger(worker)
    assert (after.live, after.parked, after.history) == (before.live, before.parked, before.history)
    worker.run_until_idle()
    assert_settled_once(*check_ledger(worker), sql, times=1)


def test_killed_in_a_rebalance_its_partitions_go_on_with_the_others(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=DYNAMIC)
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        first = worker.start(config={"crash.at": "in-rebalance"})
        first.wait_restored()
        second = worker.start()
        assert first.wait() == KILLED
        second.wait_restored()
        third = worker.start()
        third.wait_restored()
    wait_drained(kafka, names)
    assert [running.terminate() for running in (second, third)] == [0, 0]
    state, rows = check_ledger(worker)
    check_attempts(state, copies=2)
    assert len(rows) + len(state.parked) == len(numbers)
    assert sql("SELECT key FROM inserts GROUP BY key HAVING count(*) > 1") == ""

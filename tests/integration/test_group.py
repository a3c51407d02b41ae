"""Several workers in one group, each of which may join, leave, be killed or paused at any moment."""

import json
import re
import time

import pytest
import reader
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from conftest import (
    accept,
    bad,
    check_attempts,
    create_topic,
    dead_letter,
    good,
    load,
    log_inserts,
    produce,
    read_key,
    read_state,
    refuse,
    reset_offsets,
    wait_drained,
    wait_until,
)

# Small batches, so that there is always one under way; a dead worker's partitions are free after 2 s.
QUICK = {"batch.max.records": 50, "kafka.session.timeout.ms": 2000, "kafka.transaction.timeout.ms": 2000}


def assert_exactly_once(state, rows, sql, numbers):
    check_attempts(state, copies=2)
    assert not state.live
    assert len(rows) + len(state.parked) == len(numbers)
    assert sql("SELECT key FROM inserts GROUP BY key HAVING count(*) > 1") == ""


# --- joining, leaving, dying -----------------------------------------------------------------------------------------


def kill_one_after_the_other(new_worker, kafka, names, sql, check_ledger, kills):
    create_topic(kafka, names.source, 4)
    worker = new_worker(config=QUICK)
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        running = [worker.start() for _ in range(3)]
        for n in range(kills):
            seen = len(numbers)
            wait_until(lambda: len(numbers) > seen + 500, what="more load")  # noqa: B023
            running[n % 3].kill()
            running[n % 3] = worker.start()
    wait_drained(kafka, names)
    assert [one.terminate() for one in running] == [0, 0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


def test_three_workers_of_which_one_is_killed_every_few_seconds_lose_and_double_nothing(
    new_worker, kafka, names, sql, check_ledger
):
    kill_one_after_the_other(new_worker, kafka, names, sql, check_ledger, kills=4)


@pytest.mark.long
def test_three_workers_of_which_one_is_killed_every_few_seconds_for_minutes_lose_and_double_nothing(
    new_worker, kafka, names, sql, check_ledger
):
    kill_one_after_the_other(new_worker, kafka, names, sql, check_ledger, kills=60)


def test_scaling_up_and_down_under_load_loses_and_doubles_nothing(new_worker, kafka, names, sql, check_ledger):
    create_topic(kafka, names.source, 4)
    worker = new_worker(config=QUICK)
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        running = []
        for _ in range(3):
            running.append(worker.start())
            running[-1].wait_restored()
        worker.audit()  # is clean at any moment
        for one in running[:2]:
            assert one.terminate() == 0
        worker.audit()
        times = running[2].count_log('"restored"')
        running[2].wait_restored(times)
        running.append(worker.start())
        running[-1].wait_restored()
    wait_drained(kafka, names)
    assert [one.terminate() for one in running[2:]] == [0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


# --- any partition count and keying ----------------------------------------------------------------------------------


def with_full_payload(n, keyed):
    meter, instant, sequence = read_key(n).split("|")
    payload = {"meter_id": meter, "read_at": instant, "sequence": int(sequence), "kwh": f"{n}.50"}
    return dead_letter(meter if keyed else None, json.dumps(payload))


@pytest.mark.parametrize("keyed", [True, False], ids=["by meter", "by nothing"])
def test_a_source_of_4_partitions_keyed_otherwise_gives_one_entry_per_key_in_a_dlq_of_6(
    new_worker, kafka, names, sql, check_ledger, keyed
):
    create_topic(kafka, names.source, 4)
    worker = new_worker(partitions=6, config=QUICK | {"replay.auto": "false"})
    reads, copies = 60, 5
    running = [worker.start(), worker.start()]
    for one in running:
        one.wait_restored()
    for _ in range(copies):
        malformed = dead_letter(None, "{")
        produce(kafka, names.source, [with_full_payload(n, keyed) for n in range(reads)] + [malformed])

    def all_taken_in():
        state = read_state(kafka, names)
        return sum(entry["attempts"] for entry in state.live.values()) == reads * copies and len(state.parked) == copies

    wait_until(all_taken_in, what="all entries", interval=0.3)
    assert [one.terminate() for one in running] == [0, 0]
    state, _ = check_ledger(worker)
    attempts = {key: entry["attempts"] for (key, _), entry in state.live.items()}
    assert attempts == {read_key(n): copies for n in range(reads)}

    reset_offsets(kafka, names)
    stats = worker.run_until_idle(expect=[0]).stats
    assert (stats["seen"], stats["intake"]) == (copies * (reads + 1), copies * (reads + 1))
    assert check_ledger(worker)[0].live == state.live
    assert worker.run_until_idle(config={"replay.auto": "true"}).stats["committed"] == reads
    check_ledger(worker)


# --- a zombie --------------------------------------------------------------------------------------------------------


def pause_in_transaction(kafka, names, running):
    """SIGSTOP while a transaction of it is open: a record is in the DLQ that is neither committed nor aborted."""
    admin = AdminClient(kafka.client_config())
    partitions = [TopicPartition(names.dlq, p) for p in range(6)]

    def ends(level):
        found = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()), isolation_level=level, request_timeout=10)
        return [found[p].result().offset for p in partitions]

    def in_transaction():
        return ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED)

    def caught():
        running.pause()
        # Once more, as what it had sent before may still end it.
        if in_transaction() and in_transaction() and in_transaction():
            return True
        running.resume()
        return False

    wait_until(caught, what="a moment in a transaction")


def committed_records(kafka, names):
    topics = (names.dlq, names.parked, names.inbox)
    return [
        (topic, m.partition(), m.offset(), m.key(), m.value()) for topic in topics for m in reader.read_topic(kafka.client_config(), topic)
    ]


def test_a_worker_stopped_past_its_session_and_transaction_is_fenced_when_it_goes_on_and_writes_nothing_twice(
    new_worker, kafka, names, sql, check_ledger
):
    create_topic(kafka, names.source, 4)
    worker = new_worker(config=QUICK)
    refuse(sql)
    log_inserts(sql)
    numbers = range(6000)
    produce(kafka, names.source, good(n for n in numbers if n % 25 != 1) + bad(n for n in numbers if n % 25 == 1))
    zombie = worker.start()
    zombie.wait_restored()
    pause_in_transaction(kafka, names, zombie)
    heir = worker.start()
    heir.wait_restored()
    wait_drained(kafka, names)
    before = committed_records(kafka, names)
    heard = len(zombie.log())
    zombie.resume()
    wait_until(lambda: '"restored"' in zombie.log()[heard:], what="the zombie to join again")
    # What it had begun is not there; and as nothing is left to do, neither of them has written since.
    assert committed_records(kafka, names) == before
    assert "did not land" in zombie.log()[heard:] or "lost" in zombie.log()[heard:]
    assert [one.terminate() for one in (zombie, heir)] == [0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


def test_a_worker_stopped_past_its_session_alone_is_waited_for_by_its_heir_until_its_transaction_ends(
    new_worker, kafka, names, sql, check_ledger
):
    create_topic(kafka, names.source, 4)
    worker = new_worker(config=QUICK | {"kafka.transaction.timeout.ms": 30000})
    refuse(sql)
    log_inserts(sql)
    numbers = range(3000)
    produce(kafka, names.source, good(n for n in numbers if n % 25 != 1) + bad(n for n in numbers if n % 25 == 1))
    zombie = worker.start()
    zombie.wait_restored()
    pause_in_transaction(kafka, names, zombie)
    heir = worker.start()
    heir.wait_for_log('"assigned"')
    # Its heir has all partitions now, and must not begin: what the zombie has begun may still be committed, or not.
    with pytest.raises(TimeoutError):
        wait_until(lambda: '"restored"' in heir.log(), timeout=2)
    zombie.resume()
    heir.wait_restored()
    wait_drained(kafka, names)
    assert [one.terminate() for one in (zombie, heir)] == [0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


# --- leaving ---------------------------------------------------------------------------------------------------------


def test_sigterm_under_load_ends_it_with_0_within_10_s_and_its_partitions_are_free_at_once(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker(config={"kafka.session.timeout.ms": 30000, "batch.max.records": 50})
    refuse(sql)
    with load(kafka, names.source) as numbers:
        wait_until(lambda: len(numbers) > 100, what="load")
        one = worker.start()
        wait_until(lambda: sql("SELECT count(*) FROM meter_read") != "0", what="rows")
        assert one.terminate(timeout=10) == 0
        begin = time.monotonic()
        two = worker.start()
        two.wait_restored()
        assert time.monotonic() - begin < 10  # and not after the session of the first
    wait_drained(kafka, names)
    assert two.terminate(timeout=10) == 0
    state, _ = check_ledger(worker)
    check_attempts(state, copies=2)


def test_sigterm_in_restore_and_while_postgres_is_away_ends_it_with_0_within_10_s(new_worker, kafka, names, check_ledger):
    worker = new_worker()
    produce(kafka, names.source, good(range(2000)))
    worker.run_until_idle(config={"replay.auto": "false"})
    restoring = worker.start()
    restoring.wait_for_log('"assigned"')
    assert restoring.terminate(timeout=10) == 0
    waiting = worker.start(config={"sink.conninfo": "host=127.0.0.1 port=1"})
    waiting.wait_for_log('"sink-outage"')
    assert waiting.terminate(timeout=10) == 0
    worker.run_until_idle(expect=[0])
    state, _ = check_ledger(worker)
    check_attempts(state)


def partitions_of(running):
    """How many it has restored and not given up."""
    events = re.findall(r'"event":"(assigned|revoked)"|"restored","text":"(\d+) partitions', running.log())
    return int(events[-1][1] or 0) if events else 0


def test_a_static_member_stays_in_the_group_and_takes_its_partitions_again_without_a_rebalance(
    new_worker, kafka, names, sql, check_ledger
):
    worker = new_worker(config={"kafka.session.timeout.ms": 20000})
    refuse(sql)
    one, two = (worker.start(config={"instance.id": name}) for name in ("one", "two"))
    wait_until(lambda: sorted(map(partitions_of, (one, two))) == [3, 4], what="a stable group")
    rebalances = two.count_log('"assigned"')
    for _ in range(2):
        assert one.terminate() == 0
        one = worker.start(config={"instance.id": "one"})
        one.wait_restored()
    produce(kafka, names.source, good(range(100)) + bad(range(3)))
    wait_drained(kafka, names)
    assert two.count_log('"assigned"') == rebalances and two.count_log('"revoked"') == rebalances - 1
    accept(sql)

    rival = worker.start(config={"instance.id": "one"})
    assert one.wait() == 5
    assert "fenced" in one.log().lower()
    rival.wait_restored()
    assert [running.terminate() for running in (rival, two)] == [0, 0]
    members = kafka.kafka_tool("consumer-groups", "--describe", "--members", "--group", names.group)
    assert members.count(names.group) == 2
    check_ledger(worker)

"""Kafka or Postgres away, the contract missing, one bad row among good ones: no attempt is burnt and nothing is lost."""

import threading
import time

import psycopg
import pytest
import reader
from confluent_kafka import Producer
from conftest import (
    bad,
    check_attempts,
    commit_live,
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

SMALL = {"batch.max.records": 50}


@pytest.fixture
def kafka(kafka):
    yield kafka
    kafka.resume()
    kafka.start()


@pytest.fixture
def postgres(postgres):
    yield postgres
    postgres.resume()
    postgres.start()


def rows_in(sql):
    return int(sql("SELECT count(*) FROM meter_read"))


def assert_exactly_once(state, rows, sql, numbers):
    check_attempts(state, copies=2)
    assert not state.live
    assert len(rows) + len(state.parked) == len(numbers)
    assert sql("SELECT key FROM inserts GROUP BY key HAVING count(*) > 1") == ""


# --- Kafka -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_broker_that_comes_back_under_load_finds_the_workers_going_on(new_worker, kafka, names, sql, check_ledger, how):
    # They stay members all the while: no rebalance makes them start over, only a transaction that did not land does.
    worker = new_worker(config=SMALL | {"kafka.session.timeout.ms": 30000})
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        running = [worker.start(), worker.start()]
        wait_until(lambda: rows_in(sql) > 200, what="rows")
        kafka.stop() if how == "restart" else kafka.kill()
        kafka.start()
        before = rows_in(sql)
        wait_until(lambda: rows_in(sql) > before + 200, 60, "rows after the restart")
    wait_drained(kafka, names)
    assert [one.terminate() for one in running] == [0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


@pytest.mark.long
def test_a_broker_away_for_longer_than_every_time_out_finds_the_workers_going_on(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=SMALL)
    refuse(sql)
    log_inserts(sql)
    running = [worker.start(), worker.start()]
    with load(kafka, names.source) as numbers:
        wait_until(lambda: rows_in(sql) > 200, what="rows")
        kafka.pause()
        threading.Event().wait(60)
        kafka.resume()
        before = rows_in(sql)
        wait_until(lambda: rows_in(sql) > before + 200, 120, "rows after the pause")
    wait_drained(kafka, names, timeout=120)
    assert [one.terminate() for one in running] == [0, 0]
    assert_exactly_once(*check_ledger(worker), sql, numbers)


def test_sigterm_while_kafka_does_not_answer_ends_it_with_0_within_10_s(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config=SMALL)
    produce(kafka, names.source, good(range(1000)))
    running = worker.start()
    wait_until(lambda: rows_in(sql) > 0, what="rows")
    kafka.pause()
    assert running.terminate(timeout=10) == 0
    kafka.resume()
    worker.run_until_idle(expect=[0])
    state, rows = check_ledger(worker)
    check_attempts(state)
    assert len(rows) == 1000 and not state.live


def test_a_transaction_that_another_program_left_open_on_the_dlq_is_waited_for_and_what_it_aborts_is_never_seen(
    new_worker, kafka, names, check_ledger
):
    worker = new_worker(config={"replay.auto": "false"})
    produce(kafka, names.source, good(range(50)))
    worker.run_until_idle(expect=[0])
    before, _ = check_ledger(worker)
    stranger = Producer(kafka.client_config() | {"transactional.id": names.prefix, "transaction.timeout.ms": 4000})
    stranger.init_transactions(10)
    stranger.begin_transaction()
    for partition in range(6):
        key = next(k for k in map(read_key, range(50)) if reader.partition_of(k.encode(), 6) == partition)
        stranger.produce(names.dlq, key=key, value=None, partition=partition)
    assert stranger.flush(10) == 0
    begin = time.monotonic()
    running = worker.start()
    running.wait_restored()
    assert time.monotonic() - begin > 1
    assert running.terminate() == 0
    after, _ = check_ledger(worker)
    assert after.live == before.live


# --- Postgres --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_while_postgres_is_away_dead_letters_are_taken_in_no_attempt_is_burnt_and_all_drains_afterwards(
    new_worker, kafka, postgres, names, sql, check_ledger, how
):
    worker = new_worker(config=SMALL)
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        running = worker.start()
        wait_until(lambda: rows_in(sql) > 200, what="rows")
        getattr(postgres, how)()
        running.wait_for_log('"sink-outage"')
        state = read_state(kafka, names)
        parked, seen = set(state.parked), len(numbers)
        wait_until(lambda: len(numbers) > seen + 300, what="more load")
        wait_until(lambda: len(read_state(kafka, names).live) > 300, what="more entries", interval=0.3)
        state = read_state(kafka, names)
        assert set(state.parked) == parked
        assert all(entry["replays"] == 0 for entry in state.live.values() if not entry["idempotency_key"].startswith("BAD"))
        metrics = running.metrics()
        assert (metrics["meter_dlq_sink_up"], metrics["meter_dlq_breaker_open"], metrics["meter_dlq_ready"]) == (0, 1, 1)
        postgres.start()
        running.wait_for_log('"sink-up"')
    wait_drained(kafka, names)
    state, rows = check_ledger(worker)
    assert_exactly_once(state, rows, sql, numbers)
    assert_counted(running, state, rows)
    assert running.terminate() == 0


def assert_counted(running, state, rows):
    """The metrics of the only worker there was."""

    def value(name):
        return sum(value for series, value in running.metrics().items() if series.startswith(f"meter_dlq_{name}"))

    parked = len(state.parked)
    wait_until(lambda: value('parked_total{cause="poison_cap"}') == parked, what="the metrics to follow")
    assert (value("parked_total"), value("parked_reads"), value("entries")) == (parked, parked, 0)
    # A commit whose answer was lost with the connection counts as a duplicate, when it is found to be there.
    committed, duplicate = (value(f'outcomes_total{{outcome="{outcome}"}}') for outcome in ("committed", "duplicate"))
    assert committed <= len(rows) <= committed + duplicate


def test_backends_that_are_terminated_under_load_burn_no_attempt(new_worker, kafka, postgres, names, sql, check_ledger):
    worker = new_worker(config=SMALL)
    refuse(sql)
    log_inserts(sql)
    kill = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{names.database}' AND pid <> pg_backend_pid()"
    killed = 0
    with load(kafka, names.source, bad_every=0) as numbers:
        running = worker.start()
        while killed < 8:
            seen = rows_in(sql)
            wait_until(lambda: rows_in(sql) > seen, what="more rows")  # noqa: B023
            killed += len(postgres.psql(kill).split())
    wait_drained(kafka, names)
    assert running.terminate() == 0
    assert_exactly_once(*check_ledger(worker), sql, numbers)


@pytest.mark.long
def test_a_postgres_that_does_not_answer_is_an_outage_once_its_time_is_over(new_worker, kafka, postgres, names, sql, check_ledger):
    worker = new_worker(config=SMALL | {"sink.statement.timeout": "1s"})
    refuse(sql)
    log_inserts(sql)
    with load(kafka, names.source) as numbers:
        running = worker.start()
        wait_until(lambda: rows_in(sql) > 200, what="rows")
        postgres.pause()
        running.wait_for_log('"sink-outage"', timeout=60)
        postgres.resume()
        running.wait_for_log('"sink-up"', timeout=90)
    wait_drained(kafka, names)
    assert running.terminate() == 0
    assert_exactly_once(*check_ledger(worker), sql, numbers)


@pytest.mark.long
def test_until_idle_without_postgres_ends_with_3_after_30_s_and_keeps_all_it_took_in(new_worker, kafka, postgres, names, check_ledger):
    worker = new_worker()
    produce(kafka, names.source, good(range(20)))
    postgres.stop()
    result = worker.run_until_idle(expect=[3])
    assert "Postgres" in result.stderr
    assert result.stats["intake"] == 20 and result.stats["committed"] == 0
    assert [(entry["attempts"], entry["replays"]) for entry in worker.list()] == [(1, 0)] * 20
    postgres.start()
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 20
    check_ledger(worker)


# --- the contract ----------------------------------------------------------------------------------------------------


def test_without_its_contract_it_takes_in_and_replays_nothing_until_init_has_installed_it(worker, kafka, names, sql, check_ledger):
    sql("DROP FUNCTION commit_meter_reads, commit_meter_reads_isolated")
    running = worker.start()
    produce(kafka, names.source, good(range(50)))
    running.wait_for_log('"contract-missing".*meter-dlq init')
    wait_until(lambda: len(read_state(kafka, names).live) == 50, what="all to be taken in")
    wait_until(lambda: running.metrics()["meter_dlq_ready"] == 0, what="it not to be ready")
    assert "Postgres lacks the functions" in running.http("/readyz")
    assert [(entry["attempts"], entry["replays"]) for entry in worker.list()] == [(1, 0)] * 50
    worker.init()
    wait_drained(kafka, names)
    assert running.http("/readyz") == '{"ready":true,"reasons":[]}'
    assert running.terminate() == 0
    state, rows = check_ledger(worker)
    check_attempts(state)
    assert len(rows) == 50


# --- one among many --------------------------------------------------------------------------------------------------


def test_one_row_that_breaks_a_constraint_costs_its_1999_neighbours_nothing(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    refuse(sql)
    records = good(range(2000))
    records[1234:1235] = bad([1])
    produce(kafka, names.source, records)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["requeued"], stats["parked"]) == (1999, 1, 0)
    state, rows = check_ledger(worker)
    check_attempts(state)
    ((_, entry),) = state.live.items()
    assert (entry["attempts"], entry["replays"], entry["error"]["code"]) == (2, 1, "23514")
    assert len(rows) == 1999


@pytest.mark.parametrize("code", ["42P01", "28000"])
def test_a_trigger_that_fails_for_one_read_as_if_the_contract_were_broken_costs_its_neighbours_nothing(
    new_worker, kafka, names, sql, check_ledger, code
):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    sql(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.meter_id LIKE 'BAD%' THEN"
        f" RAISE 'broken' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER fail BEFORE INSERT ON meter_read FOR EACH ROW EXECUTE FUNCTION fail()"
    )
    produce(kafka, names.source, good(range(50)) + bad([1]))
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["requeued"]) == (50, 1)
    ((_, entry),) = read_state(kafka, names).live.items()
    assert (entry["attempts"], entry["error"]["code"]) == (2, code)
    check_ledger(worker)


def test_a_read_that_crashes_postgres_each_time_fails_and_costs_its_neighbours_nothing(new_worker, kafka, postgres, names, sql, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    sql(
        "CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN IF NEW.meter_id LIKE 'BAD%' THEN"
        " EXECUTE format('COPY (SELECT 1) TO PROGRAM ''kill -9 %s''', pg_backend_pid()); PERFORM pg_sleep(10);"
        " END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER crash BEFORE INSERT ON meter_read FOR EACH ROW EXECUTE FUNCTION crash()"
    )
    produce(kafka, names.source, good(range(50)) + bad([1]))
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"] + stats["duplicate"], stats["requeued"]) == (50, 1)
    ((_, entry),) = read_state(kafka, names).live.items()
    assert (entry["attempts"], entry["replays"], entry["error"]["code"]) == (2, 1, "08006")
    check_ledger(worker)


def test_a_read_with_a_value_that_postgres_cannot_hold_fails_alone(new_worker, kafka, names, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    too_fine = ['{"kwh": 1e-20000}', '{"kwh": 1, "other": 1e-20000}']  # numeric holds 16383 digits after the point
    produce(kafka, names.source, good(range(100)) + [dead_letter(read_key(n, "BAD"), payload) for n, payload in enumerate(too_fine)])
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["requeued"]) == (100, 2)
    state, _ = check_ledger(worker)
    assert {entry["idempotency_key"]: (entry["attempts"], entry["error"]["code"]) for entry in state.live.values()} == {
        read_key(n, "BAD"): (2, "22003") for n in range(2)
    }


def test_a_row_that_another_session_holds_waits_without_stopping_its_neighbours(
    new_worker, kafka, postgres, names, sql, check_ledger
):
    worker = new_worker(config={"sink.lock.timeout": "100ms", "replay.backoff.initial": "1h"})
    with psycopg.connect(postgres.conninfo(dbname=names.database)) as other:
        other.execute("INSERT INTO meter_read VALUES (%s, 'MTR-00000007', '2026-07-17T00:00:00Z', 1, 7.5)", [read_key(7)])
        produce(kafka, names.source, good(range(100)))
        stats = worker.run_until_idle(expect=[1]).stats
        assert (stats["committed"], stats["requeued"]) == (99, 1)
        ((_, entry),) = read_state(kafka, names).live.items()
        assert (entry["idempotency_key"], entry["attempts"], entry["error"]["code"]) == (read_key(7), 2, "55P03")
        other.rollback()
    commit_live(sql, read_key(7), "7.5")
    check_ledger(worker)

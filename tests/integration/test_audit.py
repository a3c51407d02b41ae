"""audit: planted damage of each kind is found in its own words and nothing else is, repair brings lost commits back, and what it
says agrees with the independent reader."""

import contextlib
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
import reader
import servers
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from conftest import (
    BINARY,
    bad,
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

TAKE_IN_ONLY = {"replay.auto": "false"}
WORDS = ("dead letters", "reads", "settled", "queued", "parked", "missing", "different")
ALL_WORDS = (*WORDS, "waiting", "written off", "doubled", "requeued")


def counts(result):
    return [{word: line.get(word, 0) for word in ALL_WORDS} for line in result.ledger]


def total(result):
    return json.loads(result.stdout.splitlines()[-1])


def delete_records(kafka, topic, partition, before):
    """What retention does."""
    admin = AdminClient(kafka.client_config())
    for deleted in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        deleted.result(30)


def move_offset(kafka, names, partition, offset):
    admin = AdminClient(kafka.client_config())
    moved = ConsumerGroupTopicPartitions(names.group, [TopicPartition(names.source, partition, offset)])
    for done in admin.alter_consumer_group_offsets([moved]).values():
        done.result(30)


def tombstone(kafka, names, key, partitions=6):
    key = key.encode()
    produce(kafka, names.dlq, [{"key": key, "value": None, "partition": reader.partition_of(key, partitions)}])


def double(kafka, names, key, partitions=6):
    """The entry of a key once more, under the key that one with other content would have."""
    raw = [m.value() for m in reader.read_topic(kafka.client_config(), names.dlq) if m.key() == key.encode()][-1]
    second = key.encode() + b"\0" + reader.decode(raw, reader.load_schemas())["content"].hex().encode()
    produce(kafka, names.dlq, [{"key": second, "value": raw, "partition": reader.partition_of(key.encode(), partitions)}])


def ends(kafka, topic):
    return reader.watermarks(kafka.client_config(), topic)


def entries_of(kafka, names, key):
    return [entry for dlq_key, entry in read_state(kafka, names).history if dlq_key == key.encode() and entry]


# --- damage and repair -----------------------------------------------------------------------------------------------


def plant(worker, kafka, names, sql):
    """In partition 0 of the source at offset n: read n. 0 to 9 are settled, 10 is parked, 20 to 25 queued, 30 to 32 skipped.
    Returns what the audit must say of it."""
    refuse(sql)
    traced = [("traceparent", b"00-1"), ("empty", None)]
    settled = [dead_letter(read_key(n), f'{{"kwh": "{n}.50"}}', headers=traced) for n in range(10)]
    produce(kafka, names.source, [r | {"partition": 0} for r in [*settled, *bad([10])]])
    worker.run_until_idle(expect=[1])
    assert reader.lag(kafka.client_config(), names.group, names.source) == 0
    produce(kafka, names.source, good(range(20, 26), partition=0))
    worker.run_until_idle(config=TAKE_IN_ONLY, expect=[0])
    produce(kafka, names.source, good(range(30, 33), partition=0))
    produce(kafka, names.source, good(range(40, 43), partition=1))

    sql(f"DELETE FROM meter_read WHERE idempotency_key IN ('{read_key(1)}', '{read_key(5)}')")
    sql(f"UPDATE meter_read SET kwh = kwh + 0.001 WHERE idempotency_key = '{read_key(6)}'")
    tombstone(kafka, names, read_key(20))
    parked = reader.partition_of(read_key(10, "BAD").encode(), 6)
    parked_end = ends(kafka, names.parked)[parked][1]
    delete_records(kafka, names.parked, parked, parked_end)
    move_offset(kafka, names, 0, 20)
    gone = "its entry was removed, but there is no row"
    skipped = "never taken in, though the group's offset is beyond it"
    return {
        f"gap: {names.parked} partition {parked} offsets 0 to {parked_end - 1}: parked reads were deleted there",
        f"missing: {read_key(1)} ({names.source} partition 0 offset 1): {gone}",
        f"missing: {read_key(5)} ({names.source} partition 0 offset 5): {gone}",
        f"missing: {read_key(10, 'BAD')} ({names.source} partition 0 offset 10): {gone}",
        f"missing: {read_key(20)} ({names.source} partition 0 offset 11): {gone}",
        *(f"missing: {read_key(n)} ({names.source} partition 0 offset {n - 13}): {skipped}" for n in range(30, 33)),
        f"different: {read_key(6)} ({names.source} partition 0 offset 6): its row has other content, and it is neither queued nor parked",
    }


@pytest.fixture
def damage(new_worker, kafka, names, sql, postgres):
    """A worker, and the lines on stderr that name what is wrong, after the independent reader has agreed with the counts."""
    create_topic(kafka, names.source, 2)
    worker = new_worker()
    lines = plant(worker, kafka, names, sql)
    found = worker.audit(expect=[4])
    assert set(found.stderr.splitlines()) == lines
    state, rows = read_state(kafka, names), reader.read_rows(postgres.conninfo(dbname=names.database))
    own = list(reader.ledger(kafka.client_config(), [names.source], state, rows).values())
    # The reader knows nothing of the group's offsets: what was not taken in yet is missing there.
    own[1]["waiting"] = own[1].pop("missing")
    assert counts(found) == [{word: line.get(word, 0) for word in ALL_WORDS} for line in own]
    assert counts(found)[0] == dict(zip(ALL_WORDS, (20, 20, 7, 5, 0, 7, 1, 0, 0, 0, 0), strict=True))
    assert counts(found)[1]["waiting"] == 3

    double(kafka, names, read_key(21))
    delete_records(kafka, names.source, 0, 3)
    delete_records(kafka, names.source, 1, 2)
    lines.discard(next(line for line in lines if read_key(1) in line))
    lines.add(f"gap: {names.source} partition 1 offsets 0 to 1: retention took them before they were taken in")
    return worker, lines


def test_damage_is_found_in_its_own_words_repair_brings_it_back_and_a_second_repair_finds_nothing(
    damage, kafka, names, sql, check_ledger, tmp_path
):
    worker, lines = damage
    found = worker.audit("-J", "--metrics", tmp_path / "audit.prom", expect=[4])
    said = set(found.stderr.splitlines())
    (of_history,) = (line for line in said if read_key(1) in line)
    assert of_history.startswith(f"missing: {read_key(1)} ({names.dlq} partition ")
    assert of_history.endswith(": its dead letter is gone, and its entry was removed, but there is no row")
    (doubled,) = (line for line in said if line.startswith("doubled: "))
    assert read_key(21) in doubled
    assert said - {of_history, doubled} == lines
    last = total(found)
    assert (last["missing"], last["different"], last["doubled"], last["clean"]) == (7, 1, 1, False)
    assert {"topic": names.source, "partition": 1, "from": 0, "to": 1} in [
        {key: gap[key] for key in ("topic", "partition", "from", "to")} for gap in last["gaps"]
    ]
    metrics = (tmp_path / "audit.prom").read_text().splitlines()
    assert {"meter_dlq_audit_success 0", "meter_dlq_audit_missing_reads 7", "meter_dlq_audit_different_reads 1"} <= set(metrics)

    # Dry run, repair, and repair again before any worker has seen the first.
    before = ends(kafka, names.inbox)
    assert "repair: 8 reads would be requeued; --execute does it" in worker.audit("--repair", expect=[4]).stderr
    assert ends(kafka, names.inbox) == before
    log_inserts(sql)
    repaired = worker.audit("--repair", "--execute", "-J", expect=[4])  # what is doubled stays so
    assert "repair: 8 reads requeued" in repaired.stderr
    assert {key: total(repaired)[key] for key in ("missing", "different", "requeued", "doubled")} == dict(
        missing=0, different=0, requeued=8, doubled=1
    )
    handed_over = ends(kafka, names.inbox)
    assert sum(high - before[p][1] for p, (_, high) in handed_over.items()) == 8
    again = worker.audit("--repair", "--execute", expect=[4])
    assert "repair: 0 reads requeued" in again.stderr and "missing" not in again.stderr
    assert ends(kafka, names.inbox) == handed_over
    # Two repairs at the same time hand the same reads over twice.
    inbox = [m for m in reader.read_topic(kafka.client_config(), names.inbox) if m.offset() >= before[m.partition()][1]]
    produce(kafka, names.inbox, [{"key": m.key(), "value": m.value(), "partition": m.partition()} for m in inbox])

    worker.run_until_idle(expect=[1])
    lost = [read_key(n) for n in (1, 5, 20, 30, 31, 32)]
    for key in lost:
        assert sql(f"SELECT count(*) FROM inserts WHERE key = '{key}'") == "1"
    state, _ = check_ledger_with_gone(worker, kafka, names, sql)
    assert {event["cause"] for (key, _), event in state.parked.items() if key == read_key(6)} == {"conflict"}
    assert {event["cause"] for (key, _), event in state.parked.items() if key == read_key(10, "BAD")} == {"poison_cap"}
    for n in (1, 5):
        first, *_, entry = entries_of(kafka, names, read_key(n))
        same = ("payload", "headers", "reason", "dead_letter", "record_key", "first_seen_utc", "attempts")
        assert {field: first[field] for field in same} == {field: entry[field] for field in same}
        assert ("empty", None) in [(header["key"], header["value"]) for header in entry["headers"]]
    assert "repair: 0 reads requeued" in worker.audit("--repair", "--execute", expect=[0]).stderr
    clean = worker.audit("--metrics", tmp_path / "audit.prom")
    assert "meter_dlq_audit_success 1" in (tmp_path / "audit.prom").read_text()
    assert "missing" not in clean.stderr and not (tmp_path / "audit.prom.tmp").exists()


def check_ledger_with_gone(worker, kafka, names, sql):
    """The audit is clean, and the reader agrees."""
    result = worker.audit(expect=[0])
    state = read_state(kafka, names)
    rows = reader.read_rows(worker.config["sink.conninfo"])
    own = reader.ledger(kafka.client_config(), [names.source], state, rows)
    assert result.ledger == [{word: line[word] for word in WORDS} for line in own.values()]
    return state, rows


def test_repair_beside_a_running_worker_brings_every_lost_commit_back_once(worker, kafka, names, sql, check_ledger):
    log_inserts(sql)
    running = worker.start()
    with load(kafka, names.source, bad_every=None):
        wait_until(lambda: int(sql("SELECT count(*) FROM meter_read")) > 300, 30, "the worker to commit")
        lost = sql("DELETE FROM meter_read WHERE idempotency_key IN (SELECT key FROM inserts LIMIT 20) RETURNING idempotency_key")
        lost = [line for line in lost.splitlines() if line.startswith("MTR-")]
        repaired = total(worker.audit("--repair", "--execute", "-J", expect=[0]))
    assert len(lost) == repaired["requeued"] == 20
    wait_until(lambda: worker.audit("-J", expect=[0, 4]).code == 0, 30, "the audit to be clean")
    wait_drained(kafka, names)
    assert running.terminate() == 0
    _, rows = check_ledger(worker)
    assert set(lost) <= set(rows)
    keys = "', '".join(lost)
    assert sql(f"SELECT count(*) FROM inserts WHERE key IN ('{keys}')") == "40"  # once before, once after


# --- other settings --------------------------------------------------------------------------------------------------


def test_reads_taken_in_under_other_settings_are_found_as_what_they_were_taken_in_as(new_worker, kafka, names, sql):
    worker = new_worker()
    energy = {"payload.fields": "kwh:energy"}
    in_payload = '{"meter_id": "M", "read_at": "2026-07-17T00:00:00Z", "sequence": 7, "kwh": "7"}'
    produce(kafka, names.source, good([1]))
    worker.run_until_idle(expect=[0])
    produce(kafka, names.source, good([2, 2]) + [dead_letter("x", in_payload)])
    worker.run_until_idle(config=TAKE_IN_ONLY, expect=[0])
    today = counts(worker.audit())
    assert today[0] == dict(zip(ALL_WORDS, (4, 3, 1, 2, 0, 0, 0, 0, 0, 0, 0), strict=True))
    # Under the new settings each dead letter is a malformed one of its own.
    changed = counts(worker.audit(config=energy))
    assert changed[0] == dict(zip(ALL_WORDS, (4, 4, 1, 3, 0, 0, 0, 0, 0, 0, 0), strict=True))
    assert worker.run_until_idle(config=energy, expect=[1]).stats["parked"] == 2
    for config, parked in (({}, 2), (energy, 3)):
        assert counts(worker.audit(config=config))[0]["parked"] == parked
    sql(f"DELETE FROM meter_read WHERE idempotency_key = '{read_key(1)}'")
    for config in ({}, energy):
        assert counts(worker.audit(config=config, expect=[4]))[0]["missing"] == 1


def test_a_read_that_a_human_resolved_without_a_row_is_written_off(new_worker, kafka, names, check_ledger, postgres):
    worker = new_worker()
    produce(kafka, names.source, good([1], reason="permanent_4xx") + good([2], reason="permanent_4xx"))
    worker.run_until_idle(expect=[1])
    check_ledger(worker)
    schemas = reader.load_schemas()
    (message,) = (m for m in reader.read_topic(kafka.client_config(), names.parked) if m.key() == read_key(1).encode())
    event = reader.decode(message.value(), schemas) | {"event": "resolved", "by": "a human"}
    resolved = {"key": message.key(), "value": reader.encode(event, message.value(), schemas), "partition": message.partition()}
    produce(kafka, names.parked, [resolved])
    result = worker.audit()
    assert counts(result)[0] == dict(zip(ALL_WORDS, (2, 2, 0, 0, 1, 0, 0, 0, 1, 0, 0), strict=True))
    own = reader.ledger(
        kafka.client_config(), [names.source], read_state(kafka, names), reader.read_rows(postgres.conninfo(dbname=names.database))
    )
    assert [{word: line.get(word, 0) for word in ALL_WORDS} for line in own.values()] == counts(result)


def test_another_function_than_ours_needs_the_name_of_its_table(worker, kafka, names, sql):
    produce(kafka, names.source, good([1, 2]))
    worker.run_until_idle(expect=[0])
    other = {"sink.function": "billing.commit_reads"}
    refused = worker.audit(config=other, expect=[2])
    assert "sink.function is billing.commit_reads" in refused.stderr and "set audit.table" in refused.stderr
    assert "billing.nothing" in worker.audit(config=other | {"audit.table": "billing.nothing"}, expect=[2]).stderr
    sql("CREATE SCHEMA billing; CREATE VIEW billing.reading AS SELECT * FROM public.meter_read WHERE sequence = 1")
    assert counts(worker.audit(config=other | {"audit.table": "billing.reading"}))[0]["settled"] == 2


# --- where it looks --------------------------------------------------------------------------------------------------


def test_since_until_and_from_choose_the_dead_letters(worker, kafka, names, sql):
    now = int(time.time() * 1000)
    produce(kafka, names.source, [record | {"timestamp": now - (9 - n) * 86400000 - 1000} for n, record in enumerate(good(range(10)))])
    worker.run_until_idle(expect=[0])
    sql(f"DELETE FROM meter_read WHERE idempotency_key = '{read_key(3)}'")

    def looked_at(*arguments, expect):
        stdout = worker.audit("-J", *arguments, expect=[expect]).stdout
        line = json.loads(stdout.splitlines()[0])
        return line["from"], line["to"], line["dead_letters"]

    assert looked_at(expect=4) == (0, 9, 10)
    assert looked_at("--since", "3d", expect=0) == (7, 9, 3)
    assert looked_at("--until", "3d", expect=4) == (0, 6, 7)
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now / 1000 - 5 * 86400))
    assert looked_at("--since", iso, "--until", "1d", expect=0) == (5, 8, 4)
    assert looked_at("--since", time.strftime("%Y-%m-%d", time.gmtime(now / 1000 + 86400)), expect=0)[2] == 0
    assert looked_at("--from", f"{names.source}:0:3", expect=4) == (3, 9, 7)
    assert looked_at("--from", f"{names.source}:0:4", "--since", "9999d", expect=0) == (4, 9, 6)
    assert looked_at("--from", f"{names.source}:0:10", expect=0)[2] == 0
    for arguments, says in (
        (("--since", "yesterday"), '--since: "yesterday": not a date'),
        (("--until", "2026-07-17T00:00:00"), "no offset"),
        (("--from", "x"), "is not TOPIC:PARTITION:OFFSET"),
        (("--from", f"{names.source}:1:0"), "is no partition of a topic in source.topics"),
        (("--from", f"{names.source}:0:11"), "ends before offset 11, at 10"),
        (("--execute",), "--execute does nothing without --repair"),
    ):
        assert says in worker.audit(*arguments, expect=[2]).stderr
    # What retention took and the user asked for is named; that its reads were settled nothing can tell any more.
    delete_records(kafka, names.source, 0, 5)
    asked = worker.audit("--from", f"{names.source}:0:2", expect=[4])
    assert f"gap: {names.source} partition 0 offsets 2 to 4: not looked at as --from says: retention took them" in asked.stderr
    assert f"missing: {read_key(3)} ({names.dlq} " in asked.stderr


def test_metrics_say_that_the_audit_could_not_be_made(worker, tmp_path):
    file = tmp_path / "audit.prom"
    worker.audit("--metrics", file)
    assert "meter_dlq_audit_dead_letters 0" in file.read_text().splitlines()
    worker.audit("--metrics", file, config={"sink.conninfo": "host=127.0.0.1 port=1"}, expect=[3])
    text = file.read_text()
    assert "meter_dlq_audit_success 0" in text.splitlines() and "missing_reads" not in text
    assert "writing" in worker.audit("--metrics", tmp_path / "none" / "audit.prom", expect=[2]).stderr


# --- size ------------------------------------------------------------------------------------------------------------


def peak_memory(command, env, out):
    """Runs it to its end; (seconds, bytes). What ru_maxrss says may be that of the Python that forked."""
    began, peak = time.monotonic(), 0
    process = servers.popen(command, env=env, stdout=out)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = max(peak, *(1024 * int(kib) for kib in re.findall(r"VmHWM:\s*(\d+) kB", status)), 0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    assert process.returncode == 0
    return time.monotonic() - began, peak


@pytest.mark.long
def test_a_million_dead_letters_are_audited_in_half_a_minute_and_100_bytes_each(worker, kafka, names, sql, tmp_path):
    n = 1_000_000
    sql(
        "INSERT INTO meter_read SELECT m || '|2026-07-17T00:00:00+00:00|1', m, '2026-07-17T00:00:00Z', 1, n + 0.5"
        f" FROM generate_series(0, {n - 1}) n, LATERAL (SELECT 'MTR-' || lpad(n::text, 8, '0') m) t"
    )
    worker.put(((read_key(i), f'{{"kwh": "{i}.50", "note": "{"x" * 300}"}}') for i in range(n)), timeout=120)
    worker.run_until_idle(timeout=300, expect=[0])
    with open(tmp_path / "audit.json", "w") as out:
        seconds, peak = peak_memory([str(BINARY), "audit", "-J"], worker.environment(), out)
    last = json.loads((tmp_path / "audit.json").read_text().splitlines()[-1])
    assert (last["dead_letters"], last["settled"]) == (n, n)
    assert seconds < 30 and peak < 100 * n, f"{seconds:.1f} s, {peak / n:.0f} bytes a dead letter"

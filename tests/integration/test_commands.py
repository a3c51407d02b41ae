"""init, put, list, audit, and what they say about a wrong configuration."""

import json
import re

import pytest
import reader
from conftest import bad, commit_live, create_topic, dead_letter, good, produce, read_key, read_state, refuse
from servers import ServerError

TAKE_IN_ONLY = {"replay.auto": "false"}


def topic_config(kafka, topic):
    """Partitions and settings, the broker's own among them."""
    text = kafka.kafka_tool("topics", "--describe", "--topic", topic)
    return int(re.search(r"PartitionCount: (\d+)", text)[1]), dict(re.findall(r"([a-z.]+)=([^,\s]+)", text))


# --- init ------------------------------------------------------------------------------------------------------------


def test_init_creates_what_is_missing_with_the_right_settings_and_run_again_changes_nothing(new_worker, kafka, names, sql):
    worker = new_worker(init=False)
    first = worker.init(4)
    for topic in (names.source, names.dlq, names.inbox, names.parked):
        assert f"created topic {topic}\n" in first.stderr
    assert "the SQL is installed" in first.stderr
    size = {"max.message.bytes": str(1048588 + 128 * 1024)}
    queue = {"cleanup.policy": "compact", "delete.retention.ms": "604800000", "min.compaction.lag.ms": "86400000", "segment.ms": "21600000"}
    kept = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    for topic, settings in ((names.dlq, queue), (names.inbox, kept), (names.parked, kept)):
        partitions, config = topic_config(kafka, topic)
        assert partitions == 4 and config | settings | size == config
    commit_live(sql, read_key(1), "1")
    again = worker.init(4)
    assert "created" not in again.stderr and "wrong" not in again.stderr
    assert sql("SELECT count(*) FROM meter_read") == "1"


def test_init_leaves_an_existing_source_as_it_is_and_says_that_partitions_are_for_life(new_worker, kafka, names):
    create_topic(kafka, names.source, 5, cleanup_policy="delete", retention_ms=3600000)
    before = topic_config(kafka, names.source)
    worker = new_worker(partitions=3)
    assert topic_config(kafka, names.source) == before
    assert f"{names.dlq} has 3 partitions, not 7" in worker.init(7).stderr
    assert topic_config(kafka, names.dlq)[0] == 3


def test_init_dry_run_prints_what_it_would_do_and_does_nothing(new_worker, kafka, names, sql):
    worker = new_worker(init=False)
    plan = worker.call("init", "--partitions", 4, "--dry-run").stdout
    assert f"-- topic {names.dlq}: would be created, 4 partitions, cleanup.policy=compact" in plan
    assert "CREATE OR REPLACE FUNCTION commit_meter_reads(" in plan
    assert sql("SELECT count(*) FROM pg_tables WHERE tablename = 'meter_read'") == "0"
    with pytest.raises(ServerError, match="does not exist"):
        kafka.kafka_tool("topics", "--describe", "--topic", names.dlq)
    sql(plan)  # it is SQL
    assert sql("SELECT count(*) FROM pg_tables WHERE tablename = 'meter_read'") == "1"


def test_topics_that_would_lose_reads_are_named_by_init_and_run_which_refuses_to_start(new_worker, kafka, names):
    create_topic(kafka, names.dlq, 6, cleanup_policy="compact,delete", segment_ms=86400000)
    create_topic(kafka, names.inbox, 4, retention_ms=-1)
    create_topic(kafka, names.parked, 6, retention_ms=3600000)
    worker = new_worker(init=False)
    for result in (worker.init(6, expect=[2]), worker.call("run", "--until-idle", expect=[2])):
        assert f"topic {names.dlq} has cleanup.policy=compact,delete where it must be compact" in result.stderr
        assert f"topic {names.dlq} has segment.ms=86400000 where it should be at most 21600000" in result.stderr
        assert f"topic {names.inbox} has 4 partitions where {names.dlq} has 6" in result.stderr
        assert f"topic {names.parked} has retention.ms=3600000 where it must be -1" in result.stderr
        assert f"--alter --entity-type topics --entity-name {names.parked} --add-config retention.ms=-1" in result.stderr


def test_run_without_topics_says_what_to_run(new_worker, names):
    result = new_worker(init=False).call("run", expect=[2])
    assert f"topic {names.dlq} does not exist; run `meter-dlq init`" in result.stderr


# --- put and list ----------------------------------------------------------------------------------------------------


def test_put_dead_letters_the_lines_of_stdin_byte_for_byte_with_their_reason(new_worker, kafka, names, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY)
    assert worker.put([(read_key(1), '{"kwh": "1"}'), ("", '{"tab": "\t"}'), (read_key(2), "")]).stderr.endswith(
        f"3 dead letters put to {names.source}\n"
    )
    worker.put(["k\tv"], reason="permanent_4xx")
    records = sorted(
        (m.offset(), m.key(), m.value(), m.headers()) for m in reader.read_topic(kafka.client_config(), names.source)
    )
    assert [record[1:] for record in records] == [
        (read_key(1).encode(), b'{"kwh": "1"}', [("dlq-reason", b"retries_exhausted")]),
        (None, b'{"tab": "\t"}', [("dlq-reason", b"retries_exhausted")]),
        (read_key(2).encode(), b"", [("dlq-reason", b"retries_exhausted")]),
        (b"k", b"v", [("dlq-reason", b"permanent_4xx")]),
    ]
    worker.run_until_idle()
    check_ledger(worker)


def test_put_refuses_a_line_without_tab_an_unknown_reason_and_a_topic_that_is_not_there(new_worker, names):
    worker = new_worker()
    assert "line 2 has no TAB" in worker.put(["a\tb", "c"], expect=[2]).stderr
    assert "none of retries_exhausted, permanent_4xx, poison" in worker.put(["a\tb"], reason="bored", expect=[2]).stderr
    elsewhere = {"source.topics": f"{names.prefix}.none"}
    assert "does not exist; run `meter-dlq init`" in worker.put(["a\tb"], config=elsewhere, expect=[2]).stderr


def test_list_shows_live_entries_and_parked_reads_as_text_and_as_json(new_worker, kafka, names, sql, check_ledger):
    worker = new_worker(config={"replay.backoff.initial": "1h"})
    refuse(sql)
    produce(kafka, names.source, bad([1]) + good([2], reason="permanent_4xx") + [dead_letter(read_key(3), b"\xff")])
    worker.run_until_idle(expect=[1])
    state, _ = check_ledger(worker)
    ((_, live),) = state.live.items()
    (entry,) = worker.list()
    assert entry["idempotency_key"] == read_key(1, "BAD") and entry["payload"] == '{"kwh": "1.50"}'
    assert (entry["reason"], entry["attempts"], entry["replays"], entry["error"]["code"]) == ("poison", 2, 1, "23514")
    assert entry["dead_letter"] == {"topic": names.source, "partition": 0, "offset": 0}
    assert entry["due_utc"] == f"{live['due_utc']:%Y-%m-%dT%H:%M:%S.%fZ}"
    assert set(entry) >= set(live)
    assert re.search(rf" 2 poison 23514 {re.escape(read_key(1, 'BAD'))}\n$", worker.call("list").stdout)

    parked = {event["cause"]: event for event in worker.list(parked=True)}
    assert set(parked) == {"permanent", "malformed"}
    assert parked["permanent"]["entry"]["idempotency_key"] == read_key(2)
    assert parked["malformed"]["entry"]["payload"] == {"b64": "/w=="} and parked["malformed"]["entry"]["record_key"] == read_key(3)
    text = worker.call("list", "--parked").stdout
    assert all(event["entry"]["idempotency_key"] in text for event in parked.values())


# --- audit on planted damage -----------------------------------------------------------------------------------------


def damaged(worker, *arguments):
    result = worker.audit(*arguments, expect=[4])
    return {word: result.ledger[0][word] for word in ("settled", "queued", "parked", "missing", "different")}, result.stderr


def test_audit_finds_a_row_that_was_deleted_and_one_that_was_changed(worker, kafka, names, sql, check_ledger):
    produce(kafka, names.source, good(range(10)))
    worker.run_until_idle(expect=[0])
    check_ledger(worker)

    sql(f"DELETE FROM meter_read WHERE idempotency_key = '{read_key(3)}'")
    counts, text = damaged(worker)
    assert counts == {"settled": 9, "queued": 0, "parked": 0, "missing": 1, "different": 0}
    assert f"missing: {read_key(3)} ({names.source} partition 0 offset 3)" in text

    sql(f"UPDATE meter_read SET kwh = kwh + 0.001 WHERE idempotency_key = '{read_key(4)}'")
    counts, text = damaged(worker)
    assert counts == {"settled": 8, "queued": 0, "parked": 0, "missing": 1, "different": 1}
    assert f"different: {read_key(4)} ({names.source} partition 0 offset 4)" in text
    total = json.loads(worker.audit("-J", expect=[4]).stdout.splitlines()[-1])
    assert (total["missing"], total["different"], total["doubled"]) == (1, 1, 0)


def test_audit_finds_an_entry_whose_tombstone_came_without_a_row(new_worker, kafka, names, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, good(range(10)))
    worker.run_until_idle(expect=[0])
    check_ledger(worker)
    key = read_key(5).encode()
    produce(kafka, names.dlq, [{"key": key, "value": None, "partition": reader.partition_of(key, 6)}])
    counts, text = damaged(worker)
    assert counts == {"settled": 0, "queued": 9, "parked": 0, "missing": 1, "different": 0}
    assert f"missing: {read_key(5)}" in text


def test_audit_finds_an_entry_that_is_there_twice(new_worker, kafka, names, check_ledger):
    worker = new_worker(config=TAKE_IN_ONLY)
    produce(kafka, names.source, good(range(10)))
    worker.run_until_idle(expect=[0])
    state, _ = check_ledger(worker)
    (value, entry) = next(
        (m.value(), entry)
        for m in reader.read_topic(kafka.client_config(), names.dlq)
        for entry in state.live.values()
        if m.key() == entry["idempotency_key"].encode() == read_key(5).encode()
    )
    second = read_key(5).encode() + b"\0" + entry["content"].hex().encode()
    produce(kafka, names.dlq, [{"key": second, "value": value, "partition": reader.partition_of(read_key(5).encode(), 6)}])
    counts, text = damaged(worker)
    assert counts == {"settled": 0, "queued": 10, "parked": 0, "missing": 0, "different": 0}
    assert f"doubled: {read_key(5)}" in text
    with pytest.raises(AssertionError, match="two live entries"):
        read_state(kafka, names)


def test_audit_beside_a_running_worker_counts_what_is_not_taken_in_yet_as_waiting(worker, kafka, names, check_ledger):
    produce(kafka, names.source, good(range(10)))
    (line,) = worker.audit().ledger
    assert (line["dead letters"], line["missing"], line["waiting"]) == (10, 0, 10)
    worker.run_until_idle(expect=[0])
    check_ledger(worker)


# --- configuration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "config", "says"),
    [
        (["rum"], {}, 'unknown command "rum"; the nearest is "run"'),
        (["run", "--posion-cap", "3"], {}, "unknown flag --posion-cap; the nearest is --poison.cap"),
        (["list", "--until-idle"], {}, "--until-idle is not for this command"),
        (["run"], {"poison.cup": 3}, "METER_DLQ_POISON_CUP sets nothing; the nearest is METER_DLQ_POISON_CAP"),
        (["run"], {"poison.cap": "many"}, '"many" is not a whole number'),
        (["run"], {"expire.after": "90"}, "a duration such as"),
        (["run"], {"kafka.sessoin.timeout.ms": 6000}, "the nearest is session.timeout.ms"),
        (["run"], {"kafka.isolation.level": "read_uncommitted"}, "kafka.isolation.level cannot be set: the protocol rests on it"),
        (["run"], {"kafka.enable.auto.commit": "true"}, "kafka.enable.auto.commit cannot be set"),
        (["run"], {"kafka.transactional.id": "mine"}, "kafka.transactional.id cannot be set"),
        (["run", "-X", "acks=1"], {}, "kafka.acks cannot be set"),
        (["run"], {"key.from": "header"}, "none of auto, key, header:NAME, payload"),
        (["run"], {"sink.function": "drop table x"}, "sink.function"),
        (["run"], {"sink.conninfo": "host=db dbnam=x"}, "dbnam"),
        (["run"], {"dlq.topic": "meter reads"}, "cannot be a topic's name"),
        (["run"], {"source.topics": "a,b", "dlq.topic": "b"}, "topic b is configured twice"),
    ],
)
def test_a_wrong_configuration_ends_with_2_and_says_what_is_nearest_or_why(new_worker, arguments, config, says):
    assert says in new_worker(init=False).call(*arguments, config=config, expect=[2]).stderr


def test_the_configuration_may_come_from_a_file_with_values_in_files(new_worker, kafka, names, tmp_path, check_ledger):
    worker = new_worker()
    produce(kafka, names.source, good(range(3)))
    (tmp_path / "conninfo").write_text(worker.config["sink.conninfo"] + "\n")
    settings = worker.config | {"sink.conninfo": f"@{tmp_path}/conninfo"}
    file = tmp_path / "meter-dlq.conf"
    file.write_text("# a test\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    nothing = dict.fromkeys(worker.config)
    assert json.loads(worker.call("run", "-e", "-F", file, config=nothing).stdout)["committed"] == 3
    check_ledger(worker)


def test_a_worker_of_another_group_or_key_rule_refuses_to_go_on_with_the_dlq(worker, kafka, names, check_ledger):
    produce(kafka, names.source, good(range(10)))
    worker.run_until_idle(expect=[0])
    for config in ({"group.id": f"{names.prefix}.other"}, {"key.from": "payload"}):
        assert "was written with 6 partitions" in worker.run_until_idle(config=config, expect=[2]).stderr
    check_ledger(worker)


def test_unreachable_servers_end_a_command_with_3(worker, kafka, names, check_ledger):
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    assert "127.0.0.1:1" in worker.call("list", config=nowhere, expect=[3]).stderr
    no_postgres = {"sink.conninfo": "host=127.0.0.1 port=1"}
    assert "port 1" in worker.audit(config=no_postgres, expect=[3]).stderr
    assert "port 1" in worker.call("init", config=no_postgres, expect=[3]).stderr
    check_ledger(worker)


def test_audit_finds_what_was_parked_as_malformed_though_it_could_be_read_under_todays_settings(new_worker, kafka, names):
    worker = new_worker()
    produce(kafka, names.source, [dead_letter("MTR-1|2026-07-17T00:00:00Z|1", '{"energy": "1"}')])
    assert worker.run_until_idle(expect=[1]).stats["parked"] == 1
    worker.call("audit", config={"payload.fields": "kwh:energy"}, expect=[0])

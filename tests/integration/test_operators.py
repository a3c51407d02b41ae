"""list, show, stats, config and check: against one prepared set of reads, their JSON and CSV checked with standard parsers
and the independent reader."""

import csv
import io
import json
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
import reader
from conftest import (
    Names,
    Worker,
    base_config,
    commit_live,
    create_topic,
    dead_letter,
    delete_topics,
    produce,
    read_state,
    refuse,
)

NOW = datetime.now(timezone.utc).replace(microsecond=0)
TRACE = "0af7651916cd43dd8448eb211c80319c"
EVIL = "\x1b[2Jevil \u202e\r\nsecond \"line\", with a comma \x9b"
LONG_METER = "BAD-" + "x" * 90
IMPORT, EXPORT = "1-0:1.8.0*255", "1-0:2.8.0*255"


class Stage:
    """One stack with reads in every state."""

    def __init__(self, kafka, postgres, folder):
        self.kafka, self.postgres = kafka, postgres
        self.names = Names("operators")
        self.second = "operators.second.dead-letter"
        config = base_config(self.names, kafka, postgres) | {
            "source.topics": f"{self.names.source},{self.second}",
            "replay.backoff.initial": "1h",
        }
        self.worker = Worker(config, folder)
        self.produced = datetime.now(timezone.utc)

    def sql(self, text):
        return self.postgres.psql(text, dbname=self.names.database)

    def call(self, *arguments, **options):
        return self.worker.call(*arguments, **options)

    def objects(self, *arguments, **options):
        return [json.loads(line) for line in self.call(*arguments, "-J", **options).stdout.splitlines()]

    def rows(self, *arguments, **options):
        text = self.call(*arguments, "--csv", **options).stdout
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def key(meter, day=17, sequence=1):
    return f"{meter}|2026-07-{day}T00:00:00Z|{sequence}"


def at(**ago):
    return {"timestamp": int((NOW - timedelta(**ago)).timestamp() * 1000)}


def errors(cls, code, message):
    return [("dlq-error-class", cls), ("dlq-error-code", code), ("dlq-error-message", message)]


def prepare(stage):
    kafka, names, worker = stage.kafka, stage.names, stage.worker
    stage.postgres.psql(f'CREATE DATABASE "{names.database}"')
    for topic in (names.source, stage.second):
        create_topic(kafka, topic, 1)
    worker.init(4)
    refuse(stage.sql)
    # Parked at the cap, as the second attempt fails.
    produce(kafka, names.source, [dead_letter(key("BAD-cap"), '{"kwh": "1"}', **at(days=3))])
    worker.run_until_idle(config={"poison.cap": 2})
    commit_live(stage.sql, key("MTR-conflict"), "1")
    produce(
        kafka,
        names.source,
        [
            # live, failed at Postgres
            dead_letter(key("BAD-1"), json.dumps({"kwh": "0.1", "reading_type": IMPORT}), **at(days=2)),
            dead_letter(key("BAD-1", 18), json.dumps({"kwh": "0.2", "reading_type": IMPORT, "note": [1.10]}), **at(days=2)),
            dead_letter(key("BAD-2"), json.dumps({"kwh": "-7", "reading_type": EXPORT, "quality": "E14"}), **at(hours=5)),
            dead_letter(key(LONG_METER), '{"kwh": "1e-3"}', **at(hours=5)),
            dead_letter(key("BAD-\x1b[31m"), '{"kwh": "4"}', **at(hours=5)),
            # settled
            dead_letter(key("MTR-good"), '{"kwh": "5.50"}', headers=[("traceparent", f"00-{TRACE}-b7ad6b7169203331-01")]),
            # parked
            dead_letter(key("MTR-conflict"), '{"kwh": "2.50", "quality": "A"}', **at(hours=4)),
            dead_letter(
                key("MTR-404"),
                json.dumps({"kwh": "3.25", "reading_type": IMPORT}),
                reason="permanent_4xx",
                headers=[
                    *errors("org.acme.HttpClientErrorException", "404", EVIL),
                    ("traceparent", f"00-{TRACE}-b7ad6b7169203331-01"),
                    ("odd\x1b", b"\x00\xff"),
                ],
                **at(days=4),
            ),
            dead_letter(key("MTR-mal"), b"\x1b[31m\xff", **at(days=5)),
            dead_letter(None, "no key at all", **at(days=6)),
        ],
    )
    produce(kafka, stage.second, [dead_letter(key("BAD-3", 19), '{"kwh": "9", "reading_type": "1-0:1.8.0*255"}', **at(hours=3))])
    worker.run_until_idle()


@pytest.fixture(scope="module")
def stage(kafka, postgres, tmp_path_factory):
    stage = Stage(kafka, postgres, tmp_path_factory.mktemp("operators"))
    prepare(stage)
    yield stage
    delete_topics(kafka, stage.names)


@pytest.fixture(scope="module")
def state(stage):
    state = read_state(stage.kafka, stage.names)
    assert len(state.live) == 6 and Counter(event["cause"] for event in state.parked.values()) == {
        "poison_cap": 1, "conflict": 1, "permanent": 1, "malformed": 2}
    return state


def live_entries(state):
    return sorted(state.live.values(), key=lambda entry: entry["last_seen_utc"])


def parked_events(state):
    return sorted(state.parked.values(), key=lambda event: event["entry"]["last_seen_utc"])


def instant(text):
    return datetime.fromisoformat(text)


def own_key(entry):
    """The key of the form meter|instant|sequence, else None."""
    for candidate in (entry["idempotency_key"], (entry["record_key"] or b"").decode("utf-8", "replace")):
        if candidate.count("|") == 2:
            return candidate
    return None


def meter_of(entry):
    return own_key(entry).split("|")[0] if own_key(entry) else None


def printable(text):
    """No control character but the line's end, and none that turns the direction of text."""
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


# --- list ------------------------------------------------------------------------------------------------------------


def test_list_as_json_has_every_read_in_the_order_of_its_last_failure_and_counts_them(stage, state):
    entries = stage.objects("list")
    assert [e["idempotency_key"] for e in entries] == [e["idempotency_key"] for e in live_entries(state)]
    events = stage.objects("list", "--parked")
    assert [e["entry"]["idempotency_key"] for e in events] == [e["entry"]["idempotency_key"] for e in parked_events(state)]
    assert "6 live entries\n" in stage.call("list", "-J").stderr
    assert "2 of 5 parked reads\n" in stage.call("list", "--parked", "-c", "2").stderr


def test_list_as_csv_is_rfc_4180_and_says_the_same_as_the_topics(stage, state):
    text = stage.call("list", "--parked", "--csv").stdout
    assert text.count("\r\n") == 1 + len(state.parked) + 1  # the heading, the rows, and one inside of a message
    rows = stage.rows("list", "--parked")
    for row, event in zip(rows, parked_events(state), strict=True):
        entry = event["entry"]
        assert row["idempotency_key"] == entry["idempotency_key"] and row["state"] == "parked"
        assert (row["cause"], row["reason"], int(row["attempts"])) == (event["cause"], entry["reason"], entry["attempts"])
        assert instant(row["first_seen_utc"]) == entry["first_seen_utc"] and row["due_utc"] == ""
        assert instant(row["parked_utc"]) == event["at_utc"]
        assert row["error_message"] == ((entry["error"] or {}).get("message") or "")
        assert int(row["source_offset"]) == entry["dead_letter"]["offset"]
    assert {row["error_message"] for row in rows} >= {EVIL}
    (row,) = stage.rows("list", "--meter", "BAD-2")
    assert (row["meter_id"], row["read_at"], row["sequence"]) == ("BAD-2", "2026-07-17T00:00:00Z", "1")
    assert (row["kwh"], row["reading_type"], row["quality"], row["error_code"]) == ("-7", EXPORT, "E14", "23514")
    assert instant(row["due_utc"]) == next(e for e in state.live.values() if e["idempotency_key"] == key("BAD-2"))["due_utc"]


@pytest.mark.parametrize("arguments", [["list"], ["list", "--parked"]])
def test_list_as_text_shows_whole_keys_in_a_table_of_80_columns(stage, state, arguments):
    text = stage.call(*arguments).stdout
    heading, *lines = text.splitlines()
    entries = [e["entry"] for e in parked_events(state)] if "--parked" in arguments else live_entries(state)
    shown = [e["idempotency_key"].replace("\x1b", r"\x1b") for e in entries]
    column = heading.index("KEY")
    joined = []
    for line in lines:
        if line.startswith("  ") and line.strip() in shown:  # too long for its row
            assert len(line) + column - 2 > 80
            joined[-1] += line.strip()
        else:
            assert len(line) <= 80
            joined.append(line)
    assert [line[column:] for line in joined] == shown
    assert all(line[column - 1] == " " for line in joined) and printable(text)
    assert [line.split()[2] for line in joined] == [str(e["attempts"]) for e in entries]


def matches(state, parked, predicate):
    if parked:
        return {e["entry"]["idempotency_key"] for e in state.parked.values() if predicate(e["entry"], e["cause"])}
    return {e["idempotency_key"] for e in state.live.values() if predicate(e, None)}


def age(entry, field):
    return NOW - entry[field]


@pytest.mark.parametrize(
    ("arguments", "predicate"),
    [
        (["--key", "*|2026-07-18T*"], lambda e, _: "|2026-07-18T" in e["idempotency_key"]),
        (["--meter", "BAD-1"], lambda e, _: meter_of(e) == "BAD-1"),
        (["--meter", "BAD-1,BAD-2"], lambda e, _: meter_of(e) in ("BAD-1", "BAD-2")),
        (["--meter", "MTR-*", "--parked"], lambda e, _: (meter_of(e) or "").startswith("MTR-")),
        (["--reason", "permanent_4xx", "--parked"], lambda e, _: e["reason"] == "permanent_4xx"),
        (["--cause", "conflict,poison_cap", "--parked"], lambda _, cause: cause in ("conflict", "poison_cap")),
        (["--cause", "mal*", "--parked"], lambda _, cause: cause == "malformed"),
        (["--code", "23514"], lambda e, _: e["error"]["code"] == "23514"),
        (["--code", "404", "--parked"], lambda e, _: (e["error"] or {}).get("code") == "404"),
        (["--code", "*HttpClient*", "--parked"], lambda e, _: "HttpClient" in ((e["error"] or {}).get("class") or "")),
        (["--source", "*.second.*"], lambda e, _: ".second." in e["dead_letter"]["topic"]),
        (["--attempts", "2"], lambda e, _: e["attempts"] == 2),
        (["--attempts", "2..", "--parked"], lambda e, _: e["attempts"] >= 2),
        (["--attempts", "..1", "--parked"], lambda e, _: e["attempts"] <= 1),
        (["--since", "108h", "--parked"], lambda e, _: age(e, "last_seen_utc") <= timedelta(hours=108)),
        (["--until", "108h", "--parked"], lambda e, _: age(e, "last_seen_utc") > timedelta(hours=108)),
        (["--since", f"{NOW - timedelta(days=4, hours=12):%Y-%m-%dT%H:%M:%SZ}", "--until", "1d", "--parked"],
         lambda e, _: timedelta(days=1) < age(e, "last_seen_utc") <= timedelta(hours=108)),
        (["--older-than", "4h"], lambda e, _: age(e, "first_seen_utc") > timedelta(hours=4)),
        (["--read-from", "2026-07-18"], lambda e, _: own_key(e).split("|")[1] >= "2026-07-18"),
        (["--read-to", "2026-07-18T02:00:00+02:00"], lambda e, _: own_key(e).split("|")[1] < "2026-07-18"),
        (["--day", "2026-07-18"], lambda e, _: "|2026-07-18" in own_key(e)),
        (["--meter", "BAD-*", "--day", "2026-07-17", "--code", "23*"],
         lambda e, _: meter_of(e).startswith("BAD-") and "|2026-07-17" in own_key(e)),
        (["--meter", "NONE"], lambda *_: False),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)  # fmt: skip
def test_list_chooses_what_the_flags_say(stage, state, arguments, predicate):
    parked = "--parked" in arguments
    expected = matches(state, parked, predicate)
    everything = matches(state, parked, lambda *_: True)
    assert expected != everything or arguments[0] in ("--attempts", "--code"), "the case tells nothing"
    assert {row["idempotency_key"] for row in stage.rows("list", *arguments)} == expected


@pytest.mark.long
def test_a_list_that_does_not_fit_into_memory_at_once_is_still_in_order(new_worker, kafka, names):
    worker = new_worker(config={"replay.auto": "false"})
    payload = json.dumps({"kwh": "1", "filler": "x" * 900_000})
    count = 80  # 72 MB, where 64 are fetched at a time
    records = [dead_letter(key(f"M-{n}"), payload, **at(hours=1 + (n * 37) % count)) for n in range(count)]
    for n in range(0, count, 20):
        produce(kafka, names.source, records[n : n + 20])
    worker.run_until_idle()
    listed = [row["last_seen_utc"] for row in csv.DictReader(io.StringIO(worker.call("list", "--csv").stdout))]
    assert len(listed) == count and listed == sorted(listed)


# --- show ------------------------------------------------------------------------------------------------------------


def test_show_has_record_payload_history_and_trace_of_a_parked_read(stage, state):
    (shown,) = stage.objects("show", key("MTR-404"))
    (event,) = (e for e in state.parked.values() if e["entry"]["idempotency_key"] == key("MTR-404"))
    entry = event["entry"]
    assert (shown["state"], shown["parked"]["cause"], shown["due_utc"]) == ("parked", "permanent", None)
    assert shown["trace_id"] == TRACE
    assert bytes.fromhex(shown["payload_hex"]) == entry["payload"] and shown["payload_bytes"] == len(entry["payload"])
    assert shown["read"] == {
        "meter_id": "MTR-404", "read_at": "2026-07-17T00:00:00Z", "sequence": 1, "kwh": "3.25",
        "reading_type": IMPORT, "quality": None, "attributes": None,
    }  # fmt: skip
    assert shown["record"]["error"]["message"] == EVIL and shown["record"]["attempts"] == entry["attempts"]
    assert {"key": "odd\x1b", "value": {"b64": "AP8="}} in shown["record"]["headers"]
    assert shown["postgres"] == {"known": True, "row": None, "same": None, "differences": [], "same_attributes": None}
    assert "does not know" in shown["why"] and "stays parked" in shown["next"]
    text = stage.call("show", key("MTR-404")).stdout
    assert printable(text) and TRACE in text and r"\x1b[2Jevil \u202e\r\nsecond" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "traceparent" not in line and "dlq-error-message" not in line)


def log_of(stage, topic, wanted):
    """What an independent client reads: (offset, time) of the records with that key."""
    return [(m.offset(), m.timestamp()[1], m.value()) for m in reader.read_topic(stage.kafka.client_config(), topic) if m.key() == wanted]


@pytest.mark.parametrize(
    ("meter", "events"),
    [("BAD-1", ["put", "bumped"]), ("MTR-good", ["put", "tombstone"]), ("BAD-cap", ["put", "parked", "tombstone"]),
     ("MTR-conflict", ["put", "parked", "tombstone"])],
)  # fmt: skip
def test_show_has_the_history_that_the_topics_have(stage, meter, events):
    (shown,) = stage.objects("show", key(meter))
    assert [event["event"] for event in shown["history"]] == events
    wanted = key(meter).encode()
    log = {(topic, *record[:2]) for topic in (stage.names.dlq, stage.names.parked) for record in log_of(stage, topic, wanted)}
    told = {(e["topic"], e["offset"], int(instant(e["at_utc"]).timestamp() * 1000)) for e in shown["history"]}
    assert told == log


def test_show_says_what_of_a_row_differs_field_by_field(stage):
    (shown,) = stage.objects("show", key("MTR-conflict"))
    assert shown["postgres"]["same"] is False and shown["parked"]["committed"]["kwh"] == "1"
    assert shown["postgres"]["differences"] == [
        {"field": "kwh", "read": "2.50", "row": "1"},
        {"field": "quality", "read": "A", "row": None},
    ]
    text = stage.call("show", key("MTR-conflict")).stdout
    assert "a row with other content" in text and re.search(r"kwh +read 2\.50, row 1\n", text)


def test_show_of_a_committed_read_has_its_row(stage):
    (shown,) = stage.objects("show", key("MTR-good"))
    assert shown["state"] == "gone" and shown["postgres"]["same"] is True and shown["postgres"]["row"]["kwh"] == "5.50"
    assert "the row, with the same content" in stage.call("show", key("MTR-good")).stdout
    commit_live(stage.sql, key("MTR-live-only"), "8")  # no topic has ever had it
    (shown,) = stage.objects("show", key("MTR-live-only"))
    assert shown["history"] == [] and shown["postgres"]["row"]["kwh"] == "8"


def test_show_looks_into_the_table_of_another_function(stage):
    columns = "idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality"
    stage.sql(f"CREATE OR REPLACE VIEW theirs AS SELECT {columns} FROM meter_read")
    (shown,) = stage.objects("show", key("MTR-good"), config={"sink.function": "theirs_commit", "audit.table": "theirs"})
    row = shown["postgres"]["row"]
    assert shown["postgres"]["same"] and (row["kwh"], row["attributes"], row["committed_utc"]) == ("5.50", None, None)
    result = stage.call("show", key("MTR-good"), config={"sink.function": "theirs_commit"}, expect=[2])
    assert "set audit.table" in result.stderr


def test_show_finds_by_meter_and_day_and_what_is_malformed_by_the_key_it_came_with(stage):
    assert [s["idempotency_key"] for s in stage.objects("show", "--meter", "BAD-1", "--day", "2026-07-18")] == [key("BAD-1", 18)]
    assert {s["state"] for s in stage.objects("show", "--meter", "BAD-*")} == {"live", "parked"}
    (shown,) = stage.objects("show", key("MTR-mal"))
    assert shown["parked"]["cause"] == "malformed" and shown["read"] is None and "not valid UTF-8" in shown["unreadable"]
    assert bytes.fromhex(shown["payload_hex"]) == b"\x1b[31m\xff"
    attributes = stage.objects("show", key("BAD-1", 18))[0]["read"]["attributes"]
    assert json.loads(attributes, parse_float=Decimal) == {"note": [Decimal("1.1")]}


def test_show_ends_with_1_where_nothing_is_found_and_says_where_to_look(stage):
    result = stage.call("show", "nothing|2026-07-17T00:00:00Z|1", expect=[1])
    assert result.stdout == "" and "`meter-dlq list`" in result.stderr
    assert stage.call("show", "--meter", "NONE", expect=[1]).stdout == ""


def test_show_without_postgres_shows_what_kafka_has_and_ends_with_3(stage):
    result = stage.call("show", key("BAD-1"), "-J", config={"sink.conninfo": "host=127.0.0.1 port=1"}, expect=[3])
    shown = json.loads(result.stdout)
    assert shown["state"] == "live" and shown["postgres"]["known"] is False and "port 1" in result.stderr


# --- stats -----------------------------------------------------------------------------------------------------------


def all_reads(state):
    """(state, cause, entry, fields of the payload or None) of all of them."""
    for entry in state.live.values():
        yield "live", None, entry, json.loads(entry["payload"], parse_float=str)
    for event in state.parked.values():
        payload = None if event["cause"] == "malformed" else json.loads(event["entry"]["payload"], parse_float=str)
        yield "parked", event["cause"], event["entry"], payload


def error_name(cause, entry):
    error = entry["error"] or {}
    cls = error.get("class") if error.get("class") != cause else None
    return " ".join(part for part in (cause, cls, error.get("code")) if part) or None


GROUPINGS = {
    "error": lambda cause, entry, payload: error_name(cause, entry),
    "cause": lambda cause, entry, payload: cause,
    "meter": lambda cause, entry, payload: meter_of(entry),
    "day": lambda cause, entry, payload: own_key(entry).split("|")[1][:10] if own_key(entry) else None,
    "reading-type": lambda cause, entry, payload: payload and payload.get("reading_type"),
    "source": lambda cause, entry, payload: entry["dead_letter"]["topic"],
}


def expected_stats(state, group):
    """{(state, group): (reads, meters, unknown, unreadable, oldest, {reading type: kWh})}"""
    groups = defaultdict(list)
    for where, cause, entry, payload in all_reads(state):
        groups[where, group(cause, entry, payload)].append((entry, payload))
    result = {}
    for name, members in groups.items():
        energy = defaultdict(Decimal)
        for _, payload in members:
            if payload:
                energy[payload.get("reading_type")] += Decimal(payload["kwh"])
        meters = [meter_of(entry) for entry, _ in members]
        result[name] = (
            len(members), len(set(meters) - {None}), meters.count(None), sum(payload is None for _, payload in members),
            min(entry["first_seen_utc"] for entry, _ in members), dict(energy),
        )  # fmt: skip
    return result


def told_stats(objects, by=None):
    assert by is None or {o["by"] for o in objects} == {by}
    return {
        (o["state"], o.get("group")): (
            o["reads"], o["meters"], o["unknown_meters"], o["unreadable"], instant(o["oldest_utc"]),
            {e["reading_type"]: Decimal(e["kwh"]) for e in o["energy"]},
        )
        for o in objects
    }  # fmt: skip


def test_stats_count_live_and_parked_apart_and_add_up_each_reading_type_exactly(stage, state):
    expected = expected_stats(state, lambda *_: None)
    assert told_stats(stage.objects("stats")) == expected
    assert expected["live", None][5][IMPORT] == Decimal("9.3") and expected["parked", None][2] == 1
    assert told_stats(stage.objects("stats", "--parked")) == {k: v for k, v in expected.items() if k[0] == "parked"}
    (none,) = (o for o in stage.objects("stats", "--meter", "NONE") if o["state"] == "live")
    assert (none["reads"], none["oldest_utc"], none["energy"]) == (0, None, [])


@pytest.mark.parametrize("by", GROUPINGS)
def test_stats_by_a_property_agree_with_the_topics_as_json_csv_and_text(stage, state, by):
    expected = expected_stats(state, GROUPINGS[by])
    objects = stage.objects("stats", "--by", by)
    assert told_stats(objects, by) == expected
    rows = stage.rows("stats", "--by", by)
    types = {name: name.removeprefix("kwh").strip() or None for name in rows[0] if name.startswith("kwh")}
    assert {
        (row["state"], row[by] or None): (
            *(int(row[name]) for name in ("reads", "meters", "unknown_meters", "unreadable")), instant(row["oldest_utc"]),
            {kind: Decimal(row[name]) for name, kind in types.items() if row[name]},
        )
        for row in rows
    } == expected  # fmt: skip
    heading, *lines = stage.call("stats", "--by", by).stdout.splitlines()
    column = heading.index(by.replace("-", " ").upper())
    rows = [line for line in lines if line.startswith(("live", "parked"))]
    assert [int(line.split()[1]) for line in rows] == [o["reads"] for o in objects]
    assert all(line[column - 1] == " " for line in rows) and all(printable(line) for line in lines)
    assert all(len(line) <= 80 for line in lines if LONG_METER not in line)


def test_stats_by_error_and_cause_say_why_and_what_to_do(stage):
    by_error = {o["group"]: o for o in stage.objects("stats", "--by", "error")}
    assert "CHECK constraint" in by_error["postgres 23514"]["why"] and "tried again" in by_error["postgres 23514"]["next"]
    assert "read again" in by_error["poison_cap postgres 23514"]["next"]
    by_cause = {o["group"]: o for o in stage.objects("stats", "--by", "cause", "--parked")}
    assert "other content is committed" in by_cause["conflict"]["why"] and "`meter-dlq show`" in by_cause["conflict"]["next"]
    assert "poison.cap attempts" in by_cause["poison_cap"]["why"]
    text = stage.call("stats", "--by", "error").stdout
    assert "why:  a CHECK constraint of the table refuses the row" in text and "next: change the constraint" in text


def test_stats_take_the_filters_of_list_and_show_the_largest_groups_first(stage):
    assert [o["group"] for o in stage.objects("stats", "--by", "meter", "--meter", "BAD-*", "-c", "1")] == ["BAD-1", "BAD-cap"]
    assert {o["state"] for o in stage.objects("stats", "--cause", "malformed", "--by", "cause")} == {"parked"}


# --- config ----------------------------------------------------------------------------------------------------------

SECRETS = ("s3cret-kafka", "s3cret-key", "s3cret-pg", "s3cret-uri", "s3cret-proxy")


def test_config_says_where_each_value_comes_from_and_shows_no_secret(stage, tmp_path):
    file = tmp_path / "ours.conf"
    file.write_text("poison.cap = 7\nexpire.after = 48h\nkafka.sasl.password = s3cret-kafka\n")
    flags = ["-F", file, "-X", "ssl.key.password=s3cret-key", "--batch-max-wait", "200ms"]
    environment = {
        "sink.conninfo": "postgresql://me:s3cret-uri@db/meters?sslpassword=s3cret-pg",
        "expire.after": "3d",
        "kafka.client.rack": "https://me:s3cret-proxy@rack/a",
    }
    items = {i["key"]: i for i in stage.objects("config", *flags, config=environment)}
    told = {k: (items[k]["value"], items[k]["source"], items[k]["where"]) for k in items}
    assert told["poison.cap"] == ("7", "file", f"{file}:1")
    assert told["expire.after"] == ("3d", "environment", "METER_DLQ_EXPIRE_AFTER")
    assert told["batch.max.wait"] == ("200ms", "flag", "--batch-max-wait")
    assert told["batch.max.records"] == ("10000", "default", None)
    assert told["kafka.isolation.level"] == ("read_committed", "fixed", None)
    assert told["kafka.sasl.password"] == ("********", "file", f"{file}:3")
    assert told["kafka.ssl.key.password"][0] == "********"
    assert told["kafka.client.rack"][0] == "https://me:********@rack/a"
    words = {"user=me", "password=********", "dbname=meters", "host=db", "sslpassword=********"}
    assert set(told["sink.conninfo"][0].split()) == words
    for arguments in (["config", *flags], ["config", "-J", *flags]):
        result = stage.call(*arguments, config=environment)
        assert not [s for s in SECRETS if s in result.stdout + result.stderr]


def test_config_needs_no_server_and_hides_a_conninfo_that_cannot_be_parsed(stage):
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1", "sink.conninfo": "password=s3cret-pg host"}
    text = stage.call("config", config=nowhere).stdout
    assert "kafka.bootstrap.servers = 127.0.0.1:1" in text and "s3cret-pg" not in text


# --- check -----------------------------------------------------------------------------------------------------------


def test_check_of_a_whole_installation_is_ok_line_by_line(stage):
    lines = stage.call("check").stdout.splitlines()
    assert lines and all(line.startswith("ok ") for line in lines)
    text = "\n".join(lines)
    for topic in (stage.names.source, stage.second, stage.names.dlq, stage.names.inbox, stage.names.parked):
        assert re.search(rf"ok topic {re.escape(topic)}: partitions \d+, cleanup.policy=\w+, [a-z.]*retention.ms=-?\d+", text)
        assert f"ok topic {topic} can be read" in text
    for part in ("brokers", "group operators.group: Empty", "offsets of group", "function commit_meter_reads_isolated is there"):
        assert part in text
    objects = stage.objects("check")
    assert [o["ok"] for o in objects] == [True] * len(lines)
    assert [f"ok {o['what']}" for o in objects] == lines


def test_check_names_what_is_missing_or_wrong_and_what_to_do(new_worker, kafka, postgres, names, sql):
    worker = new_worker()
    kafka.kafka_tool("configs", "--alter", "--entity-type", "topics", "--entity-name", names.parked, "--add-config", "retention.ms=1000")
    sql("DROP FUNCTION commit_meter_reads_isolated; ALTER TABLE meter_read DROP CONSTRAINT meter_read_pkey")
    config = {"source.topics": f"{names.source},{names.prefix}.none"}
    wrong = [o for o in map(json.loads, worker.call("check", "-J", config=config, expect=[1]).stdout.splitlines()) if not o["ok"]]
    told = {o["what"]: o["todo"] for o in wrong}
    assert len(told) == 4 and all(told.values())
    assert told[f"topic {names.prefix}.none does not exist"] == "run `meter-dlq init`"
    (retention,) = (what for what in told if what.startswith(f"topic {names.parked} has retention.ms=1000"))
    assert f"--entity-name {names.parked} --add-config retention.ms=-1" in told[retention]
    (function,) = (what for what in told if what.startswith("there is no function commit_meter_reads_isolated("))
    (constraint,) = (what for what in told if "42P10" in what)
    assert "`meter-dlq init`" in told[function] and "`meter-dlq init`" in told[constraint]


def test_check_of_a_role_without_rights_says_what_to_grant(stage, postgres):
    postgres.psql("CREATE ROLE operators_nobody LOGIN")
    config = {"sink.conninfo": postgres.conninfo(user="operators_nobody", dbname=stage.names.database)}
    text = stage.call("check", config=config, expect=[1]).stdout
    assert text.count('may not execute function commit_meter_reads') == 2
    assert text.count('GRANT meter_read_writer TO "operators_nobody"') == 2
    assert 'GRANT SELECT ON meter_read TO "operators_nobody"' in text
    result = stage.call("show", key("BAD-1"), config=config, expect=[2])
    assert "GRANT SELECT ON meter_read" in result.stderr


def test_check_of_servers_that_are_away_ends_with_3_and_says_which(stage):
    no_kafka = stage.call("check", config={"kafka.bootstrap.servers": "127.0.0.1:1"}, expect=[3]).stdout
    assert re.search(r"^NO .*127\.0\.0\.1:1.*: start Kafka, or correct kafka.bootstrap.servers", no_kafka, re.MULTILINE)
    assert "ok function commit_meter_reads is there" in no_kafka
    no_postgres = stage.call("check", config={"sink.conninfo": "host=127.0.0.1 port=1"}, expect=[3]).stdout
    assert re.search(r"^NO Postgres: .*port 1.*: start Postgres, or correct sink.conninfo", no_postgres, re.MULTILINE)
    assert f"ok topic {stage.names.dlq} can be read" in no_postgres


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "BAD-1"], 'unexpected argument "BAD-1"; flags begin with -, see --help'),
        (["list", "--cause", "conflict"], "--cause is of parked reads: add --parked"),
        (["list", "--parked", "--cause", "conflit"], "fits none of poison_cap, permanent, malformed, conflict"),
        (["list", "--reason", "bad"], "fits none of retries_exhausted, permanent_4xx, poison"),
        (["list", "--attempts", "few"], "none of N, N.., ..N and N..M, such as 3.. for 3 or more"),
        (["list", "--since", "yesterday"], "give a time with an offset (2026-07-17T08:00:00+02:00), a date (2026-07-17), or an age"),
        (["list", "--until", "2026-07-17T08:00:00"], "no offset; give a time with an offset"),
        (["list", "--since", "1h", "--until", "2h"], "--since is not before --until"),
        (["list", "--day", "17.7.2026"], "not a date such as 2026-07-17"),
        (["list", "--day", "2026-07-17", "--read-to", "2026-07-18"], "give it or them"),
        (["list", "--older-than", "old"], "--older-than: \"old\" is not a duration such as 50ms, 30s, 5m, 12h or 90d"),
        (["list", "--limit", "all"], "--limit: \"all\" is not a whole number"),
        (["list", "--limit"], "--limit needs a value"),
        (["list", "--meter", ""], "has an empty item; separate several by one comma"),
        (["list", "--json", "--csv"], "give one of them"),
        (["list", "--metre", "x"], "unknown flag --metre; the nearest is --meter"),
        (["list", "--by", "day"], "--by is not for this command"),
        (["show"], "Give a KEY, or filters such as --meter M --day D"),
        (["show", "a", "b"], 'a second KEY, "b": give one'),
        (["show", "--csv", "a"], "--csv is not for this command"),
        (["stats", "--by", "week"], "none of error, cause, meter, day, reading-type, source"),
        (["stats", "--json", "--csv"], "give one of them"),
        (["config", "--parked"], "--parked is not for this command"),
        (["check", "--poison-cup", "3"], "the nearest is --poison.cap"),
        (["chek"], 'unknown command "chek"; the nearest is "check"'),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)  # fmt: skip
def test_wrong_usage_ends_with_2_and_says_what_to_do(stage, arguments, says):
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1"}  # it is refused before anything is connected to
    result = stage.call(*arguments, config=nowhere, expect=[2])
    assert says in result.stderr and result.stdout == ""


@pytest.mark.parametrize("command", ["list", "show", "stats", "config", "check"])
def test_help_fits_80_columns_and_names_the_commands_flags(stage, command):
    text = stage.call(command, "--help").stdout
    assert text.startswith(f"usage: meter-dlq {command} ") and all(len(line) <= 80 for line in text.splitlines())
    assert ("--since TIME" in text) == (command in ("list", "show", "stats"))

"""Avro payloads: schemas from a registry, away, slow or wrong as registries are, and from files."""

import io
import json
import random
import struct
import threading
from datetime import datetime, timezone
from decimal import Decimal

import fastavro
import make_avro_fixtures
import psycopg
import pytest
import servers
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from conftest import ROOT, create_topic, dead_letter, good, produce, read_key, read_state, wait_drained, wait_until
from registry import Registry

AT = datetime(2026, 7, 17, tzinfo=timezone.utc)
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}
PLAIN = {"type": "record", "name": "Read", "fields": [{"name": "kwh", "type": DECIMAL}]}


def schema(*fields, name="Read", **options):
    """Fields are (name, type) or (name, type, {attribute: value})."""
    listed = [{"name": n, "type": kind, **(more[0] if more else {})} for n, kind, *more in fields]
    return {"type": "record", "name": name, "fields": listed, **options}


def encode(written, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(written), value)
    return out.getvalue()


def framed(number, body):
    return struct.pack(">BI", 0, number) + body


def plain(numbers, schema_id, **options):
    """Good reads by PLAIN, under the id that the registry has it by."""
    return [dead_letter(read_key(n), framed(schema_id, encode(PLAIN, {"kwh": Decimal(f"{n}.5")})), **options) for n in numbers]


@pytest.fixture
def registry():
    server = Registry().start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def source(kafka, names):
    """With partitions, for those that wait do it by themselves."""
    create_topic(kafka, names.source, 4)


@pytest.fixture
def worker(new_worker, registry):
    return new_worker(config={"registry.url": registry.url})


def amounts(sql):
    """{key: kwh as Postgres prints it}."""
    return dict(line.rsplit("|", 1) for line in sql("SELECT idempotency_key, kwh FROM meter_read").splitlines())


def parked_reasons(worker):
    """{key of the dead letter: why it is parked}; all as malformed, none twice."""
    events = worker.list(parked=True)
    assert {event["cause"] for event in events} <= {"malformed"}
    reasons = {event["entry"]["record_key"]: event["entry"]["error"]["message"] for event in events}
    assert len(reasons) == len(events)
    return reasons


def assert_all_settled(worker, reads, parked=0):
    ledger = worker.audit().ledger
    assert sum(line["settled"] for line in ledger) == reads and sum(line["parked"] for line in ledger) == parked
    assert not sum(line["missing"] + line["different"] + line["queued"] for line in ledger)


# --- what arrives ----------------------------------------------------------------------------------------------------

INSTANTS = {
    "millis": ({"type": "long", "logicalType": "timestamp-millis"}, AT.replace(microsecond=123000), "2026-07-17T00:00:00.123+00:00"),
    "micros": ({"type": "long", "logicalType": "timestamp-micros"}, AT.replace(year=1969, microsecond=1), "1969-07-17T00:00:00.000001+00:00"),
    "text": ("string", "2024-02-29T23:30:00-01:30", "2024-03-01T01:00:00+00:00"),
}
AMOUNTS = {
    "bytes": (DECIMAL, Decimal("-12.5000"), "-12.5000"),
    "long-bytes": (DECIMAL | {"precision": 38, "scale": 37}, Decimal("1." + "0" * 36 + "1"), "1." + "0" * 36 + "1"),
    "fixed": (dict(DECIMAL, type="fixed", name="Kwh", size=9, scale=0), Decimal("99999999999999999999"), "99999999999999999999"),
    "string": ("string", "0012.50", "12.50"),
    "nullable": (["null", DECIMAL], Decimal("0.0001"), "0.0001"),
}


def test_reads_of_the_official_serializer_arrive_with_every_digit_and_every_field(worker, registry, kafka, names, sql):
    client = SchemaRegistryClient({"url": registry.url})
    nested = schema(("phases", {"type": "array", "items": "float"}), ("unit", ["null", "string"]), name="Detail")
    records, expected = [], {}

    def write(key, text, value):
        serializer = AvroSerializer(client, json.dumps(text))
        payload = serializer(value, SerializationContext(f"{key[:20]}{len(records)}", MessageField.VALUE))
        records.append(dead_letter(None, payload, headers=[("idempotency-key", key)]))

    for when, (instant, at, shown) in INSTANTS.items():
        for how, (amount, kwh, digits) in AMOUNTS.items():
            key = f"{when} {how}"
            quality = ["null", {"type": "enum", "name": "Quality", "symbols": ["MEASURED", "ESTIMATED"]}]
            fields = schema(
                ("meter_id", "string"), ("read_at", instant), ("sequence", "int"), ("kwh", amount), ("quality", quality), ("detail", nested)
            )
            value = {"meter_id": "007", "read_at": at, "sequence": 1, "kwh": kwh, "quality": "ESTIMATED"}
            write(key, fields, value | {"detail": {"phases": [1.5], "unit": None}})
            expected[key] = f'007|{datetime.fromisoformat(shown)}|1|{digits}|ESTIMATED|{{"detail": {{"unit": null, "phases": [1.5]}}}}'
    produce(kafka, names.source, records)
    assert worker.run_until_idle(expect=[0]).stats["committed"] == len(expected)
    columns = "meter_id, read_at AT TIME ZONE 'UTC', sequence, kwh, quality, attributes"
    rows = dict(line.split("|", 1) for line in sql(f"SELECT idempotency_key, {columns} FROM meter_read").splitlines())
    for key, row in expected.items():
        meter, at, rest = row.split("|", 2)
        moment = datetime.fromisoformat(at)
        assert rows[key] == f"{meter}|{moment:%Y-%m-%d %H:%M:%S}{f'.{moment.microsecond:06d}'.rstrip('0') if moment.microsecond else ''}|{rest}"
    assert_all_settled(worker, len(expected))


def test_versions_with_fields_added_removed_and_renamed_are_read_by_the_schema_that_wrote_them(worker, registry, kafka, names, sql):
    versions = [
        (schema(("kwh", "string"), ("quality", "string")), {"kwh": "1.0", "quality": "A"}),
        (schema(("tariff", "int"), ("kwh", "string"), ("quality", "string")), {"tariff": 3, "kwh": "2.0", "quality": "A"}),
        (schema(("energy", "string", {"aliases": ["kwh"]})), {"energy": "3.0"}),
        (schema(("kwh", ["null", "string"]), ("reading_type", ["null", "string"])), {"kwh": "4.0", "reading_type": None}),
    ]
    records = [dead_letter(read_key(n), framed(registry.add(text), encode(text, value))) for n, (text, value) in enumerate(versions, 1)]
    guid = registry.guid(1).bytes
    records.append(dead_letter(read_key(5), encode(*versions[0]), headers=[("__value_schema_id", b"\1" + guid)]))
    records.append(dead_letter(read_key(6), b"\1" + guid + encode(*versions[0])))
    as_json = registry.add({"type": "object"}, kind="JSON")
    records.append(dead_letter(read_key(7), framed(as_json, b'{"kwh": "7.0"}')))
    registry.add_version("unit/s", json.dumps(schema(("text", "string"), name="Unit", namespace="com.acme")))
    reference = {"name": "com.acme.Unit", "subject": "unit/s", "version": 1}
    referring = schema(("unit", "com.acme.Unit"), ("kwh", "string"))
    body = encode(schema(("unit", schema(("text", "string"), name="Unit")), ("kwh", "string")), {"unit": {"text": "kWh"}, "kwh": "8.0"})
    records.append(dead_letter(read_key(8), framed(registry.add(referring, references=[reference]), body)))
    produce(kafka, names.source, records)
    worker.run_until_idle()
    assert parked_reasons(worker) == {}
    assert amounts(sql) == {read_key(n): f"{1 if n in (5, 6) else n}.0" for n in range(1, 9)}
    attributes = sql("SELECT attributes FROM meter_read WHERE attributes IS NOT NULL ORDER BY idempotency_key")
    assert attributes.splitlines() == ['{"tariff": 3}', '{"unit": {"text": "kWh"}}']
    assert len(registry.requests) == len(set(registry.requests)), "a schema was fetched twice"
    assert_all_settled(worker, 8)


def test_10000_random_reads_are_what_fastavro_decimal_and_datetime_read_digit_for_digit(
    worker, registry, kafka, postgres, names
):
    records, expected = [], {}
    for kind, *columns in make_avro_fixtures.read_lines(10000, random.Random(7)):
        if kind == "schema":
            number = registry.add(columns[0])
            continue
        key = f"read {len(records)}"
        records.append(dead_letter(None, framed(number, bytes.fromhex(kind)), headers=[("idempotency-key", key)]))
        expected[key] = columns
    produce(kafka, names.source, records)
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 10000
    columns = "meter_id, (extract(epoch FROM read_at) * 1000000)::bigint::text, sequence::text, kwh::text, reading_type, quality, attributes::text"
    with psycopg.connect(postgres.conninfo(dbname=names.database)) as connection:
        rows = {key: list(row) for key, *row in connection.execute(f"SELECT idempotency_key, {columns} FROM meter_read")}
    assert len(rows) == 10000
    for key, columns in expected.items():
        *fields, attributes = (None if column == make_avro_fixtures.NULL else column for column in columns)
        assert rows[key][:-1] == fields, key
        assert exactly(rows[key][-1]) == exactly(attributes), key
    assert_all_settled(worker, 10000)


def exactly(text):
    return text and json.loads(text, parse_float=Decimal, parse_int=Decimal)


# --- what is wrong with the schema -----------------------------------------------------------------------------------


def test_reads_whose_schema_is_not_to_be_had_are_parked_with_the_reason_and_cost_the_others_nothing(
    new_worker, registry, kafka, names, sql
):
    worker = new_worker(config={"registry.url": registry.url, "registry.timeout": "300ms", "registry.negative.ttl": "1h"})
    good_id = registry.add(PLAIN)
    wrong = {
        99: "schema id 99: not in the registry",
        registry.add('syntax = "proto3";', kind="PROTOBUF"): "is PROTOBUF, not Avro or JSON",
        registry.add('{"type": "record"}'): "is no Avro schema",
        registry.add(schema(("kwh", "Amount")), references=[{"name": "Amount", "subject": "gone", "version": 1}]): "refers to subject gone version 1",
        (broken := registry.add(PLAIN)): "HTTP 500",
        (endless := registry.add(PLAIN)): "more than 1 MiB",
        (garbled := registry.add(PLAIN)): "answer is not JSON",
        (slow := registry.add(PLAIN)): "timed out",
    }
    registry.odd[f"/schemas/ids/{broken}"] = (500, {"error_code": 50001, "message": "Error in the backend datastore"})
    registry.odd[f"/schemas/ids/{endless}"] = (200, json.dumps({"schema": " " * (1 << 20)}).encode())
    registry.odd[f"/schemas/ids/{garbled}"] = (200, b"<html>")
    registry.delay[f"/schemas/ids/{slow}"] = threading.Event()
    body = encode(PLAIN, {"kwh": Decimal(1)})
    records = [dead_letter(f"wrong {number}", framed(number, body)) for number in wrong]
    records.append(dead_letter("8 bytes", b"\0" + struct.pack(">Q", 7) + body))
    records.append(dead_letter("fingerprint", b"\xc3\1" + bytes(8) + body))
    produce(kafka, names.source, plain(range(20), good_id) + records + plain(range(20, 40), good_id))
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (40, len(records))
    assert registry.requests.count("GET /schemas/ids/99") == 1 and registry.requests.count(f"GET /schemas/ids/{broken}") == 3
    reasons = parked_reasons(worker)
    for number, why in wrong.items():
        assert why in reasons[f"wrong {number}"]
    assert "ends in /apis/ccompat/v7" in reasons["8 bytes"] and "no registry knows fingerprints" in reasons["fingerprint"]
    registry.delay[f"/schemas/ids/{slow}"].set()
    assert_all_settled(worker, 40, parked=len(records))


def test_a_schema_that_was_not_there_is_asked_for_again_after_a_while(new_worker, registry, kafka, names, sql):
    worker = new_worker(config={"registry.url": registry.url, "registry.negative.ttl": "1s"})
    running = worker.start()
    produce(kafka, names.source, plain([1], 7))
    wait_until(lambda: read_state(kafka, names).parked, what="the read to be parked")
    registry.add(PLAIN, number=7)
    numbers = iter(range(2, 1000))

    def one_more():
        produce(kafka, names.source, plain([next(numbers)], 7))
        return amounts(sql)

    wait_until(one_more, what="a read by the new schema", interval=0.3)
    wait_drained(kafka, names)
    assert running.terminate() == 0
    worker.audit()


def test_an_entry_whose_schema_was_deleted_is_tried_again_as_a_failed_read_and_goes_when_it_is_back(
    new_worker, registry, kafka, names, sql
):
    worker = new_worker(config={"registry.url": registry.url, "replay.auto": "false", "replay.backoff.initial": "2s"})
    number = registry.add(PLAIN)
    produce(kafka, names.source, plain(range(3), number))
    assert worker.run_until_idle(expect=[0]).stats["intake"] == 3
    kept = registry.schemas.pop(number)
    stats = worker.run_until_idle(expect=[1], config={"replay.auto": "true"}).stats
    assert (stats["requeued"], stats["parked"]) == (3, 0)
    for entry in worker.list():
        assert (entry["attempts"], entry["error"]["class"]) == (2, "malformed") and "not in the registry" in entry["error"]["message"]
    registry.schemas[number] = kept
    running = worker.start(config={"replay.auto": "true"})
    wait_until(lambda: len(amounts(sql)) == 3, what="the next replay")
    assert running.terminate() == 0
    assert_all_settled(worker, 3)


# --- the registry is away --------------------------------------------------------------------------------------------


def test_while_the_registry_is_away_only_what_needs_a_new_schema_waits_and_all_goes_in_order_when_it_is_back(
    worker, registry, kafka, names, sql
):
    known, new = registry.add(PLAIN), registry.add(PLAIN)
    produce(kafka, names.source, plain(range(10), known, partition=0))
    running = worker.start()
    wait_until(lambda: len(amounts(sql)) == 10, what="the schema to be known")
    registry.stop()
    produce(kafka, names.source, plain(range(10, 20), known, partition=0) + plain(range(20, 30), new, partition=1) + good(range(30, 40), partition=1))
    produce(kafka, names.source, plain(range(40, 50), known, partition=2) + good(range(50, 60), partition=3))
    produce(kafka, names.source, plain(range(60, 70), known, partition=0) + good(range(70, 80), partition=1))
    running.wait_for_log('"registry-away".*waits')
    wait_until(lambda: len(amounts(sql)) == 50, what="what needs no new schema")
    assert not set(map(read_key, [*range(20, 40), *range(70, 80)])) & set(amounts(sql))
    metrics = running.metrics()
    assert (metrics["meter_dlq_ready"], metrics["meter_dlq_sink_up"]) == (1, 1)
    assert (metrics["meter_dlq_registry_up"], metrics["meter_dlq_waiting_partitions"]) == (0, 1)
    registry.start()
    wait_until(lambda: len(amounts(sql)) == 80, what="all")
    metrics = running.metrics()
    assert (metrics["meter_dlq_registry_up"], metrics["meter_dlq_waiting_partitions"]) == (1, 0)
    wait_drained(kafka, names)
    assert running.terminate() == 0
    assert running.count_log('"registry-away"') == 1 and running.count_log('"registry-up"') == 1
    assert all(entry["attempts"] == 1 for _, entry in read_state(kafka, names).history if entry)
    assert_all_settled(worker, 80)


def test_entries_whose_schema_is_away_at_their_replay_stay_as_they_are_until_it_is_back(new_worker, registry, kafka, names, sql):
    worker = new_worker(config={"registry.url": registry.url, "batch.max.records": 20})
    number = registry.add(PLAIN)
    produce(kafka, names.source, plain(range(60), number) + good(range(60, 70)))
    worker.run_until_idle(expect=[0], config={"replay.auto": "false"})
    before = read_state(kafka, names).live
    assert len(before) == 70
    shown = {entry["idempotency_key"]: entry["read"]["kwh"] for entry in worker.list() if "read" in entry}
    assert shown == {read_key(n): f"{n}.5000" for n in range(60)}
    registry.stop()
    running = worker.start()
    running.wait_for_log('"registry-away"')
    wait_until(lambda: len(amounts(sql)) == 10, what="those that need no schema")
    produce(kafka, names.source, good(range(70, 80)))
    wait_until(lambda: len(amounts(sql)) == 20, what="more of them")
    live = read_state(kafka, names).live
    assert live == {identity: entry for identity, entry in before.items() if entry["payload"][:1] == b"\0"} and len(live) == 60
    registry.start()
    wait_drained(kafka, names)
    assert running.terminate() == 0
    assert_all_settled(worker, 80)


def test_a_schema_that_takes_its_time_holds_up_nobody_else(new_worker, registry, kafka, names, sql):
    worker = new_worker(config={"registry.url": registry.url, "registry.timeout": "20s"})
    number = registry.add(PLAIN)
    registry.delay[f"/schemas/ids/{number}"] = threading.Event()
    produce(kafka, names.source, plain(range(10), number, partition=0))
    running = worker.start()
    wait_until(lambda: registry.requests, what="the request")
    produce(kafka, names.source, good(range(10, 200), partition=1))
    wait_until(lambda: len(amounts(sql)) == 190, what="the others")
    registry.delay[f"/schemas/ids/{number}"].set()
    wait_until(lambda: len(amounts(sql)) == 200, what="all")
    assert running.terminate() == 0
    assert_all_settled(worker, 200)


def test_a_registry_with_tls_that_refuses_the_password_is_waited_for_and_let_in_by_the_right_one_all_go(
    new_worker, kafka, names, sql, tmp_path
):
    servers.make_certificates(tmp_path / "tls")
    ca, pem, key = (str(tmp_path / "tls" / name) for name in ("ca.pem", "server.pem", "server.key"))
    password = tmp_path / "password"
    password.write_text("wrong\n")
    registry = Registry("alice", "a password", tls=(pem, key)).start()
    options = {"registry.url": f"https://127.0.0.1:{servers.free_port()}/, {registry.url}/", "registry.user": "alice"}
    worker = new_worker(config=options | {"registry.password": f"@{password}"})
    produce(kafka, names.source, plain(range(10), registry.add(PLAIN), partition=0) + good(range(10, 20), partition=1))
    running = worker.start(config={"registry.ca": ca})
    running.wait_for_log('"registry-away".*HTTP 401.*registry.password')
    wait_until(lambda: len(amounts(sql)) == 10, what="what needs no schema")
    assert running.terminate() == 0 and "wrong" not in running.log()
    password.write_text("a password\n")
    stranger = worker.start()
    stranger.wait_for_log('"registry-away".*(certificate|SSL)')
    assert stranger.terminate() == 0
    lines = [line for line in worker.call("check", config={"registry.ca": ca}, expect=[3]).stdout.splitlines() if "schema registry" in line]
    assert len(lines) == 2 and lines[0].startswith("NO ") and lines[1] == f"ok schema registry {registry.url}/"
    assert worker.run_until_idle(expect=[0], config={"registry.ca": ca}).stats["parked"] == 0
    assert_all_settled_with(worker, {"registry.ca": ca}, 20)
    registry.stop()


def assert_all_settled_with(worker, config, reads):
    ledger = worker.audit(config=config).ledger
    assert sum(line["settled"] for line in ledger) == reads


def test_a_registry_whose_storage_fails_is_waited_for_and_a_schema_that_it_keeps_from_us_holds_up_nobody(
    new_worker, registry, kafka, names, sql
):
    sick = Registry().start()
    worker = new_worker(config={"registry.url": f"{sick.url}, {registry.url}"})
    padded = schema(("pad", "long"), ("kwh", DECIMAL))
    known, bare, new, refused = (registry.add(text) for text in (PLAIN, padded, PLAIN, PLAIN))
    failing = {f"/schemas/ids/{number}": (500, {"error_code": 50001, "message": "Error in the backend"}) for number in (known, bare, new, refused)}
    sick.odd |= failing
    begins_like_a_frame = encode(padded, {"pad": 0, "kwh": Decimal("10.5")})
    assert begins_like_a_frame[:1] == b"\0" and len(begins_like_a_frame) > 4
    in_header = dead_letter(read_key(10), begins_like_a_frame, headers=[("__value_schema_id", struct.pack(">BI", 0, bare))], partition=0)
    produce(kafka, names.source, plain(range(10), known, partition=0) + [in_header])
    running = worker.start()
    wait_until(lambda: len(amounts(sql)) == 11, what="the second address to be asked")

    registry.odd |= failing
    produce(kafka, names.source, plain(range(20, 30), new, partition=1) + good(range(30, 40), partition=2))
    running.wait_for_log('"registry-away".*HTTP 500')
    wait_until(lambda: registry.requests.count(f"GET /schemas/ids/{new}") >= 3, what="more failures than a schema is forgiven")
    assert len(amounts(sql)) == 21 and not read_state(kafka, names).parked
    registry.odd.clear()
    wait_until(lambda: len(amounts(sql)) == 31, what="those that waited")

    registry.odd[f"/schemas/ids/{refused}"] = (403, {"error_code": 40301, "message": "User is denied operation Read"})
    produce(kafka, names.source, plain(range(40, 50), refused, partition=1) + plain(range(50, 60), known, partition=1))
    wait_until(lambda: len(amounts(sql)) == 41, what="those behind what is refused")
    wait_drained(kafka, names)
    assert running.terminate() == 0
    sick.stop()
    reasons = parked_reasons(worker)
    assert set(reasons) == set(map(read_key, range(40, 50)))
    assert all("the registry does not let us read it: HTTP 403" in why for why in reasons.values())
    assert running.count_log('"registry-away"') == 1 and running.count_log('"registry-up"') == 1
    assert set(sick.requests + registry.requests) == {f"GET /schemas/ids/{number}" for number in (known, bare, new, refused)}
    assert_all_settled(worker, 41, parked=10)


@pytest.mark.long
def test_without_a_registry_until_idle_and_audit_end_with_3(worker, registry, kafka, names, sql):
    number = registry.add(PLAIN)
    produce(kafka, names.source, plain(range(5), number, partition=0) + good(range(5, 10), partition=1))
    registry.stop()
    result = worker.run_until_idle(expect=[3])
    assert "the schema registry has not answered" in result.stderr and result.stats["committed"] == 5
    result = worker.audit(expect=[3])
    assert f"cannot be read without schema id {number}" in result.stderr and names.source in result.stderr
    registry.start()
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 5
    assert_all_settled(worker, 10)


# --- files -----------------------------------------------------------------------------------------------------------


def single_object(written, value):
    fingerprint = fastavro.schema.fingerprint(fastavro.schema.to_parsing_canonical_form(written), "CRC-64-AVRO")
    return b"\xc3\1" + bytes.fromhex(fingerprint) + encode(written, value)


def test_schemas_from_files_are_found_by_fingerprint_and_by_id_and_ours_without_any(new_worker, kafka, names, sql, tmp_path):
    by_id, by_fingerprint = tmp_path / "plain.avsc", tmp_path / "other.avsc"
    other = schema(("kwh", "string"), name="com.acme.Other")
    by_id.write_text(json.dumps(PLAIN))
    by_fingerprint.write_text(json.dumps(other))
    worker = new_worker(config={"schema.files": f"7={by_id}, {by_fingerprint}"})
    ours = json.loads((ROOT / "schemas/avro/meter_read.avsc").read_text())
    read = {"meter_id": "MTR-00000004", "read_at": AT, "sequence": 1, "kwh": Decimal("4.5")}
    records = [dead_letter(read_key(2), single_object(PLAIN, {"kwh": Decimal("2.5")}))]
    records += [dead_letter(read_key(3), single_object(other, {"kwh": "3.5"}))]
    records += [dead_letter(read_key(4), single_object(ours, read | {f["name"]: None for f in ours["fields"] if f["name"] not in read}))]
    produce(kafka, names.source, plain([1], 7) + records)
    assert worker.run_until_idle(expect=[0]).stats["committed"] == 4
    assert {key: Decimal(kwh) for key, kwh in amounts(sql).items()} == {read_key(n): Decimal(f"{n}.5") for n in range(1, 5)}
    assert_all_settled(worker, 4)
    produce(kafka, names.source, plain([5], 8))
    worker.run_until_idle(expect=[1])
    assert "no registry.url is set" in parked_reasons(worker)[read_key(5)]
    worker.audit()


@pytest.mark.parametrize(
    ("files", "complaint"),
    [("/nowhere.avsc", "/nowhere.avsc: No such file"), ("x=/dev/null", "x=/dev/null"), ("0=/dev/null", "a schema id is"), ("/dev/null", "no text")],
)
def test_a_schema_file_that_is_none_is_named(new_worker, files, complaint):
    worker = new_worker(init=False, config={"schema.files": files})
    assert complaint in worker.call("run", expect=[2]).stderr


# --- meter-dlq schemas -----------------------------------------------------------------------------------------------


def test_schemas_says_what_a_registry_has_of_ours_and_registers_it_only_when_told(new_worker, registry, names):
    worker = new_worker(init=False, config={"registry.url": registry.url})
    subjects = [f"{topic}-value" for topic in (names.dlq, names.parked, names.inbox)]
    first = worker.call("schemas").stdout.splitlines()
    assert first == [f"{subject}: missing, nothing of that name; --execute registers it" for subject in subjects]
    assert not registry.subjects
    done = worker.call("schemas", "--execute").stdout.splitlines()
    assert done == [f"{subject}: registered, id {n}" for n, subject in enumerate(subjects, 1)]
    files = ("dead_letter_record", "parked_record", "inbox_record")
    for number, file in enumerate(files, 1):
        assert registry.schemas[number][0] == (ROOT / f"schemas/avro/{file}.avsc").read_text()
    states = [json.loads(line) for line in worker.call("schemas", "--execute", "-J").stdout.splitlines()]
    assert states == [{"subject": subject, "state": "present", "id": n, "version": 1} for n, subject in enumerate(subjects, 1)]
    registry.subjects[subjects[0]] = [registry.add(PLAIN)]
    assert "missing, compatible with the latest version" in worker.call("schemas").stdout
    registry.incompatible.add(subjects[0])
    assert "incompatible with the latest version: READER_FIELD" in worker.call("schemas", expect=[2]).stdout
    registry.stop()
    assert registry.url in worker.call("schemas", expect=[3]).stderr

"""An independent reader of topics and table, the check on `meter-dlq audit`: standard clients, no code shared with the worker."""

import io
import json
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import fastavro
import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from fastavro.schema import fingerprint, parse_schema, to_parsing_canonical_form

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas" / "avro"


def murmur2(data):
    """org.apache.kafka.common.utils.Utils.murmur2, as an unsigned number."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def partition_of(key, partitions):
    """Java's default partitioner."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


# --- topics ----------------------------------------------------------------------------------------------------------


def _consumer(config, isolation):
    return Consumer(
        config
        | {
            "group.id": f"reader-{uuid.uuid4()}",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
        }
    )


def watermarks(config, topic, isolation="read_uncommitted"):
    """{partition: (low, high)}; with read_committed the last stable offset instead of high."""
    consumer = _consumer(config, isolation)
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10, cached=False) for p in sorted(partitions)}
    finally:
        consumer.close()


def committed_offsets(config, group, topic, partitions):
    """By partition; below 0 where there is none."""
    consumer = Consumer(config | {"group.id": group})
    try:
        committed = consumer.committed([TopicPartition(topic, p) for p in partitions], timeout=10)
    finally:
        consumer.close()
    return {c.partition: c.offset for c in committed}


def lag(config, group, topic):
    """Offsets of the topic that the group has not passed, those of markers included."""
    ends = watermarks(config, topic)
    committed = committed_offsets(config, group, topic, ends)
    return sum(high - max(committed[p], low) for p, (low, high) in ends.items())


def records_ahead(config, group, topic):
    """Records of the topic that the group has not passed."""
    records = read_topic(config, topic)
    committed = committed_offsets(config, group, topic, watermarks(config, topic))
    return [r for r in records if r.offset() >= committed[r.partition()]]


def read_topic(config, topic, isolation="read_committed", timeout=60):
    """All records up to the ends of now, by partition and offset. A transaction that stays open beyond the time is an error."""
    open_partitions = {p: high for p, (low, high) in watermarks(config, topic).items() if high > low}
    records = []
    consumer = _consumer(config, isolation)
    try:
        consumer.list_topics(topic, timeout=10)  # assign alone takes half a second to find the leaders
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in open_partitions])
        while open_partitions:
            message = consumer.poll(timeout)
            if message is None:
                raise TimeoutError(f"{topic}: partitions {sorted(open_partitions)} did not reach their ends in {timeout} s")
            if message.error() is None:
                records.append(message)
            elif message.error().code() != KafkaError._PARTITION_EOF:
                raise RuntimeError(message.error())
            elif message.offset() >= open_partitions.get(message.partition(), 0):
                open_partitions.pop(message.partition(), None)
    finally:
        consumer.close()
    return sorted(records, key=lambda m: (m.partition(), m.offset()))


# --- records ---------------------------------------------------------------------------------------------------------


def load_schemas(folder=SCHEMAS):
    """{fingerprint as on the wire: schema} of all schema files."""
    schemas = {}
    for path in sorted(folder.glob("*.avsc")):
        schema = json.loads(path.read_text())
        # fastavro gives CRC-64-AVRO as the hex of its little-endian bytes, which is the order on the wire.
        wire = bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))
        schemas[wire] = parse_schema(schema, named_schemas={})
    return schemas


def decode(value, schemas):
    """A record framed as Avro single-object encoding."""
    if value[:2] != b"\xc3\x01":
        raise ValueError(f"not single-object encoding: {value[:10].hex()}")
    body = io.BytesIO(value[10:])
    record = fastavro.schemaless_reader(body, schemas[value[2:10]], None)
    if rest := body.read():
        raise ValueError(f"{len(rest)} bytes after the record")
    return record


def content(key, payload):
    """What makes two reads the same: the six fields, or the payload where they cannot be had."""
    try:
        fields = json.loads(payload, parse_float=Decimal, parse_int=Decimal)
        meter, instant, sequence = key.split("|") if key.count("|") == 2 else (None, None, None)
        kwh = Decimal(fields["kwh"])
        texts = fields.get("meter_id", meter), fields.get("reading_type"), fields.get("quality")
        if not kwh.is_finite() or not all(isinstance(text, (str, type(None))) for text in texts):
            return payload
        instant = datetime.fromisoformat(fields.get("read_at", instant))
        return texts[0], instant, int(fields.get("sequence", sequence)), kwh, *texts[1:]
    except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError, RecursionError):
        return payload


def encode(record, value, schemas):
    """The record framed as `value` is, which has the same schema."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schemas[value[2:10]], record)
    return value[:10] + body.getvalue()


@dataclass
class State:
    """What the DLQ and the parked topic say: records by (idempotency key, content)."""

    live: dict = field(default_factory=dict)
    parked: dict = field(default_factory=dict)
    checkpoints: dict = field(default_factory=dict)
    history: list = field(default_factory=list)  # (DLQ key, entry or None for a tombstone)


def read_state(config, dlq_topic, parked_topic):
    """Folds both topics. Raises AssertionError where they break a promise: two live entries of one read, a key in a wrong
    partition, an entry that lost attempts or moved its times, a read parked twice."""
    schemas, state, last = load_schemas(), State(), {}
    partitions = len(watermarks(config, dlq_topic))
    for message in read_topic(config, dlq_topic):
        if message.key()[:1] == b"\0":
            state.checkpoints[message.partition()] = message.value() and decode(message.value(), schemas)
            continue
        _check_partition(message, partitions)
        entry = message.value() and decode(message.value(), schemas)
        _check_stay(last.get(message.key()), entry)
        last[message.key()] = entry
        state.history.append((message.key(), entry))
    for key, entry in last.items():
        if entry:
            assert key.split(b"\0")[0] == entry["idempotency_key"].encode(), f"key {key} on an entry of {entry['idempotency_key']}"
            identity = identity_of(entry)
            assert identity not in state.live, f"two live entries of {identity}"
            state.live[identity] = entry
    for message in read_topic(config, parked_topic):
        _check_partition(message, partitions)
        _fold_event(state.parked, decode(message.value(), schemas))
    return state


def _check_stay(before, after):
    if before and after:
        assert before["content"] == after["content"], f"{after['idempotency_key']}: other content took its place"
        assert before["attempts"] <= after["attempts"], f"{after['idempotency_key']}: attempts went back"
        assert before["first_seen_utc"] >= after["first_seen_utc"], f"{after['idempotency_key']}: first_seen moved later"
        assert before["last_seen_utc"] <= after["last_seen_utc"], f"{after['idempotency_key']}: last_seen went back"


def _fold_event(parked, event):
    identity = identity_of(event["entry"])
    before = parked.pop(identity, None)
    if event["event"] == "redriven":
        assert before and before["event"] == "parked", f"{identity}: redriven, but not parked"
        return
    assert not before or event["event"] == "resolved", f"{identity}: parked twice"
    parked[identity] = event


def _check_partition(message, partitions):
    right = partition_of(message.key().split(b"\0")[0], partitions)
    assert message.partition() == right, f"{message.topic()}: {message.key()} in partition {message.partition()}, not {right}"


def identity_of(entry):
    return entry["idempotency_key"], content(entry["idempotency_key"], entry["payload"])


def read_rows(conninfo):
    """{idempotency key: content} of the table."""
    with psycopg.connect(conninfo) as connection:
        query = "SELECT idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality FROM meter_read"
        return {key: tuple(fields) for key, *fields in connection.execute(query)}


# --- the ledger ------------------------------------------------------------------------------------------------------


def key_of(message):
    """The idempotency key by the rule `auto`, None where there is none."""
    key = (message.key() or b"").decode("utf-8", "replace")
    if key.count("|") == 2:
        return key
    for name, value in message.headers() or []:
        if name == "idempotency-key" and value:
            return value.decode()
    try:
        fields = json.loads(message.value())
        return f"{fields['meter_id']}|{fields['read_at']}|{fields['sequence']}"
    except (ValueError, KeyError, TypeError):
        return None


def ledger(config, sources, state, rows):
    """{(topic, partition): counts}, named as in the audit's lines."""
    reads, payloads = {}, defaultdict(set)
    for topic in sources:
        for partition in watermarks(config, topic):
            reads[topic, partition] = Counter()
        for message in read_topic(config, topic):
            identity = _identity_of_message(message, state)
            reads[topic, message.partition()][identity] += 1
            payloads[identity].add(message.value())
    ledgers = {}
    for place, copies in reads.items():
        counts = Counter(_outcome(identity, payloads[identity], state, rows) for identity in copies)
        ledgers[place] = counts + Counter({"dead letters": copies.total(), "reads": len(copies)})
    return ledgers


def _identity_of_message(message, state):
    # What is malformed or oversize is parked under its own position, whatever key it came with; the latter as a pointer.
    own = f"{message.topic()}-{message.partition()}-{message.offset()}"
    for identity in ((own, content(own, message.value())), (own, None)):
        if identity in state.parked:
            return identity
    key = key_of(message)
    return key, content(key or "", message.value())


def _outcome(identity, payloads, state, rows):
    if identity in rows.items():
        return "settled"
    event = state.parked.get(identity, {})
    parked = "written off" if event.get("event") == "resolved" else "parked"
    for outcome, kept in (("queued", state.live.get(identity)), (parked, event.get("entry"))):
        if kept:
            return outcome if kept["payload"] in payloads or _is_pointer(kept) else "different"
    return "different" if identity[0] in rows else "missing"


def _is_pointer(entry):
    return entry["payload"] is None and entry["error"] and entry["error"]["class"] == "oversize"

#!/usr/bin/env python3
"""Writes the first inputs of each target into corpus/TARGET: one of each kind. What fuzzing has found beside them stays.

usage: make_seeds.py    with fastavro
"""

import base64
import io
import json
import struct
from pathlib import Path

import fastavro

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEY = b"MTR-00000001|2026-07-17T00:00:00+00:00|1"


def headers(**values):
    out = b""
    for name, value in values.items():
        name = name.encode()
        out += bytes([len(name)]) + name + (b"\xff\xff" if value is None else struct.pack(">H", len(value)) + value)
    return out


def int32(v):
    return struct.pack(">i", v)


def int64(v):
    return struct.pack(">q", v)


def prefixed(prefix, **values):
    return {prefix + name.replace("_", "-"): value for name, value in values.items()}


def dotted(prefix, **values):
    return {prefix + name.replace("_", "."): value for name, value in values.items()}


TRACE = b"java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\nCaused by: d.E: HTTP 503\n"
DIALECT = {
    "native": headers(**prefixed("dlq-", reason=b"permanent_4xx", error_class=b"Timeout", error_code=b"503", error_message=b"gone")),
    "spring": headers(
        **prefixed("kafka_dlt-", original_topic=b"reads", original_partition=int32(3), original_offset=int64(7), original_timestamp=int64(1784246400000)),
        **prefixed("kafka_dlt-", original_timestamp_type=b"CREATE_TIME", original_consumer_group=b"g", exception_fqcn=b"a.Wrapper", exception_cause_fqcn=b"d.E"),
        **prefixed("kafka_dlt-", exception_message=b"HTTP 404", exception_stacktrace=TRACE),
        **{"retry_topic-attempts": int32(4), "retry_topic-original-timestamp": b"\x01\x9f\x6e", "kafka_deliveryAttempt": int32(2)},
    ),
    "spring-stream": headers(**{"x-original-topic": b"reads", "x-original-partition": int32(1), "x-original-offset": int64(2), "x-original-timestamp": int64(3), "x-exception-fqcn": b"a.B", "x-exception-message": b"m", "x-exception-stacktrace": TRACE}),
    "connect": headers(
        **dotted("__connect.errors.", topic=b"reads", partition=b"1", offset=b"22", connector_name=b"sink", task_id=b"0", stage=b"VALUE_CONVERTER"),
        **dotted("__connect.errors.", class_name=b"a.Converter", exception_class_name=b"a.DataException", exception_message=None, exception_stacktrace=TRACE),
    ),
    "streams": headers(**dotted("__streams.errors.", exception=b"a.b.C: text", stacktrace=TRACE, message=b"m", topic=b"reads", partition=b"0", offset=b"5")),
    "share-group": headers(**{"__dlq.errors." + k: v for k, v in dict(topic=b"reads", partition=b"0", offset=b"5", group=b"g", message=b"m").items()}, **{"__dlq.errors.delivery.count": b"5"}),
    "smallrye": headers(**prefixed("dead-letter-", exception_class_name=b"a.B", cause_class_name=b"c.D", reason=b"r", cause=b"c", topic=b"reads", partition=b"0", offset=b"5")),
    "karafka": headers(source_topic=b"reads", source_partition=b"0", source_offset=b"5", source_consumer_group=b"g", source_attempts=b"3", source_trace_id=b"t"),
    "wolverine": headers(**{"exception-type": b"A.B", "exception-message": b"m", "exception-stack": TRACE, "failed-at": b"2026-07-17T00:00:00Z", "original-destination": b"kafka://topic/reads", "original-partition": b"0", "original-offset": b"5", "attempts": b"3"}),
    "twice": headers(**{"x-original-topic": b"a"}) + headers(**{"x-original-topic": b"b", "x-exception-fqcn": b""}),
}

JSON = {
    "amount": b'{"kwh": "12.50"}',
    "whole": b'{"meter_id":"0042","read_at":"2024-02-29T12:00:00.5+01:00","sequence":1,"kwh":-1.250E+1,"reading_type":"1-0:1.8.0*255","quality":null}',
    "attributes": b'{"kwh":1,"a":[true,null,{"b":{}},[]],"s":"\\"\\\\\\u0001\\ud83d\\ude00","n":1.10e-05}',
    "several": b'[{"kwh":1},{"kwh":2}]',
    "repeated": b'{"kwh":1,"kwh":2}',
}

KEYS = {
    "auto": b"auto\n" + KEY + b'\0{"kwh":"12.50"}',
    "key": b"key\nM\0" + JSON["whole"],
    "payload": b"payload\nM\0" + JSON["whole"],
    "header": b"header:idempotency-key\n\0" + JSON["whole"],
    "bars": b"auto\na|b|2026-07-17T23:59:60-23:59|9223372036854775807\0" + JSON["amount"],
}

CONFIG = {
    "ours": b"# a comment\nsource.topics = a, b\npoison.cap = 5\nreplay.backoff.initial = 5m\nbatch.max.bytes = 4MiB\nkey.from = header:x\n",
    "kafka": b"bootstrap.servers=localhost:9092\nsecurity.protocol = SSL\n",
    "fields": b"payload.fields = kwh:energy,meter_id:mp\nclassify = com.acme.Bad:permanent_4xx\nkafka.client.id = x\n",
    "from-file": b"sink.conninfo = @/file\n",
    "refused": b"kafka.isolation.level = read_uncommitted\n",
}


UUID = bytes(range(16))
AVRO = b"\4\4\xe2\0"  # kwh 12.50, and a map of nothing
FRAMING = {  # what is answered: 0 a schema, 1 that it is JSON, 2 that there is none, 3 nothing; the header's length and value
    "none": b"\0\0" + JSON["amount"],
    "id": b"\0\0" + b"\0\0\0\0\7" + AVRO,
    "global-id": b"\0\0" + b"\0" + int64(7) + AVRO,
    "guid": b"\0\0" + b"\1" + UUID + AVRO,
    "single-object": b"\0\0" + b"\xc3\1" + UUID[:8] + AVRO,
    "header-guid": b"\0\x11\1" + UUID + AVRO,
    "header-id": b"\0\5\0\0\0\0\7" + AVRO,
    "json": b"\1\0" + b"\0\0\0\0\7" + JSON["whole"],
    "unknown": b"\2\0" + b"\0\0\0\0\7" + AVRO,
    "away": b"\3\0" + b"\0\0\0\0\7" + AVRO,
}


FOUND = {
    "found-error-of-a-field-unwanted": b'{"type":"record","name":"R","fields":[{"name":"f","type":"Ring"}]}\0\0',
    "found-string-that-is-not-utf-8": b'{"type":"record","name":"R","fields":[{"name":"f","type":"string"}]}\0\2\xb2',
}


def avro():
    yield from FOUND.items()
    for name, columns in (("types", 12), ("reads", 12)):
        schema, used = b"", 0
        for line in (ROOT / "tests/unit/avro" / f"{name}.txt").read_text().splitlines():
            first, second, *_ = line.split("\t")
            if first == "schema":
                schema, used = second.encode(), 0
            elif not used and (name == "types" or columns):
                columns -= name == "reads"
                used = 1
                yield f"{name}-{len(schema):03d}-{first[:12]}", schema + b"\0" + bytes.fromhex(first)


def codec():
    """Made of every schema's default-like values, and once more with every union's last branch."""
    names = ["dead_letter_record", "parked_record", "inbox_record", "checkpoint"]
    for number, name in enumerate(names):
        schema = fastavro.parse_schema(json.loads((ROOT / "schemas/avro" / f"{name}.avsc").read_text()))
        for full in (False, True):
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, sample(schema, schema["__named_schemas"], full))
            yield f"{name}-{'full' if full else 'least'}", bytes([number]) + out.getvalue()


def sample(schema, named, full):
    if isinstance(schema, list):
        return sample(schema[-1] if full else schema[0], named, full)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind in named:
        return sample(named[kind], named, full)
    if kind == "record":
        return {f["name"]: sample(f["type"], named, full) for f in schema["fields"]}
    if kind == "array":
        return [sample(schema["items"], named, full)] * (2 if full else 0)
    if kind == "enum":
        return schema["symbols"][-1 if full else 0]
    if kind == "fixed":
        return b"\x01" * schema["size"]
    return {"null": None, "string": "text", "bytes": b"bytes", "int": 7, "long": 1784246400000000, "boolean": full}[kind]


def recorded():
    """The first dead letter of each topic that the real programs wrote."""
    for path in sorted((ROOT / "tests/fixtures/data").glob("*.json")):
        topics = {record["topic"]: record for record in reversed(json.loads(path.read_text())["records"])}
        for topic, record in topics.items():
            values = [(name, None if value is None else base64.b64decode(value)) for name, value in record["headers"]]
            yield f"real-{topic}", b"".join(headers(**{name: value}) for name, value in values)


TARGETS = {"dialect": DIALECT | dict(recorded()), "framing": FRAMING, "json": JSON, "key": KEYS, "config": CONFIG, "avro": dict(avro()), "codec": dict(codec())}

for target, seeds in TARGETS.items():
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)

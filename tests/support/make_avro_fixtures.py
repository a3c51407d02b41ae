#!/usr/bin/env python3
"""Writes what tests/unit/test_avro_*.c decode: Avro by fastavro, and what fastavro, decimal and datetime read in it.

usage: make_avro_fixtures.py [--reads N] FOLDER    the folder in the repository is tests/unit/avro, with 1600 reads

schemas.txt  fingerprint, parsing canonical form, schema
types.txt    a line `schema JSON` for those that follow: payload in hex, attributes
reads.txt    likewise: payload in hex, meter_id, read_at in microseconds, sequence, kwh, reading_type, quality, attributes
Columns are separated by tabs, \\N is null. The same seed gives the same files.
"""

import argparse
import base64
import decimal
import io
import json
import random
import struct
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

decimal.getcontext().prec = 5000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
NULL = r"\N"

# --- fastavro's values as the JSON that attributes are ----------------------------------------------------------------


def quoted(text):
    escape = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escape.get(c, c if c >= " " else f"\\u{ord(c):04x}") for c in text) + '"'


def shortest(value, digits, same):
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return next(text for text in (f"%.{d}g" % value for d in digits) if same(float(text), value))


def same_float(a, b):
    return struct.pack("<f", a) == struct.pack("<f", b)


def fraction(microsecond):
    return f".{microsecond:06d}" if microsecond else ""


def moment(value):
    text = value.replace(microsecond=0, tzinfo=None).isoformat() if isinstance(value, datetime) else value.replace(microsecond=0).isoformat()
    if isinstance(value, datetime):
        text = text.rjust(19, "0")
    return text + fraction(value.microsecond) + ("Z" if value.tzinfo else "")


def holds(schema, value):
    """Whether the value can be of a branch of one of the unions below."""
    kind = schema["type"] if isinstance(schema, dict) else schema
    python = {"null": type(None), "string": str, "enum": str, "array": list, "map": dict, "record": dict, "Node": dict, "boolean": bool}
    return isinstance(value, python.get(kind, (int, float, bytes, Decimal, datetime)))


def as_json(schema, value):
    """By the schema, for it says what a float is."""
    if isinstance(schema, list):
        schema = next(branch for branch in schema if holds(branch, value))
    schema = NODE if schema == "Node" else schema
    kind = schema["type"] if isinstance(schema, dict) else schema
    if value is None:
        return "null"
    if kind == "record":
        return "{" + ",".join(f"{quoted(f['name'])}:{as_json(f['type'], value[f['name']])}" for f in schema["fields"]) + "}"
    if kind == "array":
        return "[" + ",".join(as_json(schema["items"], v) for v in value) + "]"
    if kind == "map":
        return "{" + ",".join(f"{quoted(k)}:{as_json(schema['values'], v)}" for k, v in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == "float":
        return shortest(value, range(6, 10), same_float)
    if kind == "double":
        return shortest(value, range(15, 18), lambda a, b: a == b)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return quoted(f"{value:f}")
    if isinstance(value, bytes):
        return quoted(base64.b64encode(value).decode())
    if isinstance(value, (datetime, time)):
        return quoted(moment(value))
    if isinstance(value, (date, uuid.UUID)):
        return quoted(str(value))
    return quoted(value)


# --- writing ---------------------------------------------------------------------------------------------------------


def plain(schema):
    """The schema without decimals: their bytes are ours to choose."""
    if isinstance(schema, list):
        return [plain(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: plain(v) if k in ("type", "items", "values") else v for k, v in schema.items()}
    if "fields" in schema:
        kept["fields"] = [dict(f, type=plain(f["type"])) for f in schema["fields"]]
    if schema.get("logicalType") == "decimal":
        del kept["logicalType"]
    return kept


def encode(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain(schema)), value)
    return out.getvalue()


def decode(schema, payload):
    return fastavro.schemaless_reader(io.BytesIO(payload), fastavro.parse_schema(schema))


def twos_complement(unscaled, size=None, more=0):
    """As few bytes as will do, and more of the sign; or just size bytes."""
    least = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size or least + more, "big", signed=True)


def record(fields, name="Read"):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


# --- schemas.txt -----------------------------------------------------------------------------------------------------

SCHEMAS = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "int", "logicalType": "date", "doc": "stripped"},
    {"type": "array", "items": {"type": "null"}},
    {"values": "string", "type": "map"},
    ["null", {"type": "boolean"}, {"type": "array", "items": ["int", "string"]}],
    {"type": "record", "fields": [], "name": "Empty"},
    {"type": "record", "fields": [], "name": "a.b.Full", "namespace": "x.y"},
    {"namespace": "x.y.z", "type": "enum", "name": "Quality", "doc": "A doc", "symbols": ["MEASURED", "ESTIMATED"], "default": "MEASURED"},
    {"type": "fixed", "name": "Sixteen", "size": 16, "aliases": ["Old"], "logicalType": "decimal", "precision": 30, "scale": 3},
    {"type": "record", "name": "List", "namespace": "n", "fields": [{"name": "value", "type": "long", "default": 0, "order": "ignore"}, {"name": "next", "type": ["null", "List"]}]},
    {
        "type": "record",
        "name": "Outer",
        "namespace": "one",
        "fields": [
            {"name": "a", "type": {"type": "record", "name": "two.Inner", "fields": [{"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X"]}}]}},
            {"name": "b", "type": ["null", "two.Inner", "two.E"], "aliases": ["c"], "doc": "é"},
            {"name": "m", "type": {"type": "map", "values": {"type": "fixed", "name": "F", "size": 2}}},
            {"name": "f", "type": {"type": "array", "items": "F"}},
            {"name": "top", "type": {"type": "fixed", "name": "Top", "namespace": "", "size": 1}},
        ],
    },
]


def schema_lines(folder):
    ours = [json.loads(file.read_text()) for file in sorted((folder.parents[2] / "schemas" / "avro").glob("*.avsc"))]
    for schema in SCHEMAS + ours:
        form = to_parsing_canonical_form(schema)
        # fastavro gives the bytes as they travel, little-endian.
        crc = int.from_bytes(bytes.fromhex(fingerprint(form, "CRC-64-AVRO")), "little")
        yield f"{crc:016x}", form, json.dumps(schema, ensure_ascii=False)


# --- types.txt -------------------------------------------------------------------------------------------------------


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


def instants(unit):
    of = [
        datetime(1970, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999000),
        datetime(1900, 2, 28, 1, 2, 3),
        datetime(2024, 2, 29, 12, 30, 15, 250000),
        datetime(2000, 2, 29),
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999000),
    ]
    return of + [datetime(2026, 7, 17, 0, 0, 0, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)] if unit == "micros" else of


def utc(values):
    return [v.replace(tzinfo=timezone.utc) for v in values]


NODE = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "Node"]}]}
TYPES = [
    ("null", [None]),
    ("boolean", [True, False]),
    ("int", [0, 1, -1, 63, 64, -64, -65, 2147483647, -2147483648]),
    ("long", [0, -1, 9007199254740993, 9223372036854775807, -9223372036854775808]),
    ("float", [0.0, 1.5, -0.1, 3.4028234663852886e38, 1e-45, 16777216.0, 0.3, float("nan"), float("inf")]),
    ("double", [0.0, -0.0, 0.1, 1 / 3, 1e300, 5e-324, 123456789.125, float("nan"), float("-inf")]),
    ("bytes", [b"", b"\0", b"\0\1\2\xff", b"abcd"]),
    ("string", ["", "x", "Zähler ☀ 𝄞", 'a"b\\c', "tab\tnewline\n\x01\x7f"]),
    ({"type": "fixed", "name": "F", "size": 3}, [b"\1\2\3"]),
    ({"type": "fixed", "name": "F0", "size": 0}, [b""]),
    ({"type": "enum", "name": "E", "symbols": ["A", "B", "C14"]}, ["A", "C14"]),
    ({"type": "array", "items": "long"}, [[], [1], [1, -2, 300]]),
    ({"type": "array", "items": "null"}, [[None], [None] * 100]),
    ({"type": "map", "values": "string"}, [{}, {"a": "1", "": "", 'q"': "ü"}]),
    (record([("a", "int"), ("b", ["null", "string"])], "Inner"), [{"a": 1, "b": None}, {"a": 2, "b": "x"}]),
    (record([], "Nothing"), [{}]),
    (NODE, [{"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}}]),
    (["null", "long", "string"], [None, 5, "5"]),
    ({"type": "array", "items": ["null", {"type": "map", "values": {"type": "array", "items": "boolean"}}]}, [[None, {"x": [True, False]}]]),
    (logical("bytes", "decimal", precision=40, scale=2), [twos_complement(v) for v in (0, 1, -1, 127, 128, -128, -129, 10**38 - 1, 1 - 10**38)]),
    (logical("bytes", "decimal", precision=4), [twos_complement(-1234)]),
    (dict(logical("fixed", "decimal", precision=38, scale=38), name="D", size=16), [twos_complement(v, 16) for v in (0, 5, -5, 10**37)]),
    (logical("string", "uuid"), ["89791762-2336-4186-9674-299b90a802e2"]),
    (logical("int", "date"), [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    (logical("int", "time-millis"), [time(0, 0), time(23, 59, 59, 999000), time(1, 2, 3)]),
    (logical("long", "time-micros"), [time(0, 0), time(23, 59, 59, 999999)]),
    (logical("long", "timestamp-millis"), utc(instants("millis"))),
    (logical("long", "timestamp-micros"), utc(instants("micros"))),
    (logical("long", "local-timestamp-millis"), instants("millis")),
    (logical("long", "local-timestamp-micros"), instants("micros")),
]


def type_lines():
    for kind, values in TYPES:
        schema = record([("kwh", "string"), ("x", kind)])
        yield "schema", json.dumps(schema)
        for value in values:
            payload = encode(schema, {"kwh": "1", "x": value})
            read = decode(schema, payload)
            yield payload.hex(), "{" + quoted("x") + ":" + as_json(kind, read["x"]) + "}"


# --- reads.txt -------------------------------------------------------------------------------------------------------

READS_PER_SCHEMA = 40


def maybe_null(rng, kind):
    return rng.choice([kind, kind, ["null", kind], [kind, "null"]])


def amount_type(rng):
    scale = rng.randint(0, rng.choice([6, 6, 38]))
    return rng.choice(
        [
            logical("bytes", "decimal", precision=max(scale, 1) + rng.randint(0, 38), scale=scale),
            logical("bytes", "decimal", precision=max(scale, 18), scale=scale),
            dict(logical("fixed", "decimal", precision=38, scale=scale), name="Amount", size=rng.choice([16, 17, 24])),
            rng.choice(["string", "int", "long"]),
        ]
    )


def random_schema(rng):
    enum = {"type": "enum", "name": "Quality", "symbols": ["MEASURED", "ESTIMATED", "E14"]}
    fields = [
        ("meter_id", maybe_null(rng, "string")),
        ("read_at", maybe_null(rng, rng.choice([logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), "string"]))),
        ("sequence", maybe_null(rng, rng.choice(["int", "long", "string"]))),
        ("kwh", maybe_null(rng, amount_type(rng))),
    ]
    fields += rng.sample([("reading_type", maybe_null(rng, "string")), ("quality", maybe_null(rng, rng.choice(["string", enum])))], rng.randint(0, 2))
    fields += rng.sample([("a", "int"), ("b", ["null", "string"]), ("c", "double"), ("d", {"type": "array", "items": "int"})], rng.choice([0, 0, 0, 0, 0, 1, 2]))
    rng.shuffle(fields)
    return record(fields)


def random_amount(rng, kind):
    digits = rng.randint(1, 38)
    unscaled = rng.randrange(10**digits) * rng.choice([1, 1, -1])
    if kind == "int":
        return int(str(unscaled)[:9])
    if kind == "long":
        return int(str(unscaled)[:18])
    if kind == "string":
        return f"{Decimal(unscaled).scaleb(-rng.randint(0, digits)):f}"
    bound = 10 ** kind["precision"]
    unscaled = unscaled % bound if unscaled >= 0 else -(-unscaled % bound)
    return twos_complement(unscaled, kind.get("size"), more=rng.choice([0, 0, 0, 1, 5]))


def random_instant(rng, kind):
    us = rng.randrange(-62135596800 * 10**6, 253402300800 * 10**6) if rng.random() < 0.3 else rng.randrange(0, 2 * 10**15)
    unit = rng.choice([1, 1000, 10**6, 900 * 10**6])
    if kind != "string" and kind["logicalType"] == "timestamp-millis":
        unit = max(unit, 1000)
    at = EPOCH + timedelta(microseconds=us - us % unit)
    if kind != "string":
        return at
    offset = timedelta(minutes=rng.choice([0, 60, -300, 345])) if 1 < at.year < 9999 else timedelta(0)
    return at.astimezone(timezone(offset)).isoformat().replace("+00:00", rng.choice(["Z", "+00:00"]))


def not_null(kind):
    return next(k for k in kind if k != "null") if isinstance(kind, list) else kind


def random_read(rng, schema):
    kinds = {f["name"]: not_null(f["type"]) for f in schema["fields"]}
    value = {
        "meter_id": f"{rng.randrange(10**6):0{rng.randint(1, 8)}d}",
        "read_at": random_instant(rng, kinds["read_at"]),
        "sequence": rng.choice([0, 1, rng.randrange(2**31)]),
        "kwh": random_amount(rng, kinds["kwh"]),
        "reading_type": rng.choice(["1-0:1.8.0*255", "E1"]),
        "quality": rng.choice(["MEASURED", "ESTIMATED", "E14"]),
        "a": rng.randint(-1000, 1000),
        "b": rng.choice([None, "ü", "x"]),
        "c": rng.choice([0.1, 1e20, rng.random()]),
        "d": [rng.randint(-100, 100) for _ in range(rng.randint(0, 3))],
    }
    if kinds["sequence"] == "string":
        value["sequence"] = str(value["sequence"])
    for optional in ("reading_type", "quality"):
        if any(f["name"] == optional and isinstance(f["type"], list) for f in schema["fields"]) and rng.random() < 0.3:
            value[optional] = None
    return {name: value[name] for name in kinds}


def expected(schema, read):
    at = read["read_at"]
    at = datetime.fromisoformat(at.replace("Z", "+00:00")) if isinstance(at, str) else at
    kwh = read["kwh"]
    others = [f for f in schema["fields"] if f["name"] in "abcd"]
    attributes = "{" + ",".join(f"{quoted(f['name'])}:{as_json(f['type'], read[f['name']])}" for f in others) + "}"
    return [
        read["meter_id"],
        str((at - EPOCH) // MICROSECOND),
        str(int(read["sequence"])),
        f"{kwh:f}" if isinstance(kwh, Decimal) else str(kwh),
        read.get("reading_type") or NULL,
        read.get("quality") or NULL,
        attributes if others else NULL,
    ]


def read_lines(count, rng):
    for i in range(count):
        if i % READS_PER_SCHEMA == 0:
            schema = random_schema(rng)
            yield "schema", json.dumps(schema, separators=(",", ":"))
        payload = encode(schema, random_read(rng, schema))
        yield payload.hex(), *expected(schema, decode(schema, payload))


def write(file, lines):
    file.write_text("".join("\t".join(line) + "\n" for line in lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reads", type=int, default=1600)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    write(args.folder / "schemas.txt", schema_lines(Path(__file__).resolve().parents[1] / "unit" / "avro"))
    write(args.folder / "types.txt", type_lines())
    write(args.folder / "reads.txt", read_lines(args.reads, random.Random(args.reads)))


if __name__ == "__main__":
    main()

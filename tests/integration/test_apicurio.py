"""A real registry, Apicurio's, with the official serializers as writers; only with --long, for its 140 MB."""

import json
import os
import struct
import subprocess
import urllib.request
from decimal import Decimal

import pytest
import servers
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from conftest import dead_letter, produce, read_key, wait_until

VERSION = "2.6.13.Final"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}
UNIT = {"type": "enum", "name": "Unit", "namespace": "com.acme", "symbols": ["KWH"]}

pytestmark = pytest.mark.long


def record(*fields, **options):
    return {"type": "record", "name": "Read", "fields": [{"name": name, "type": kind} for name, kind in fields]} | options


def unpacked():
    folder = servers.cache_folder() / f"apicurio-{VERSION}"
    if not folder.exists():
        for goal in (f"get -Dtransitive=false -Dartifact={ARTIFACT}", f"copy -Dartifact={ARTIFACT} -DoutputDirectory={folder}.partial"):
            subprocess.run(["mvn", "-q", "-B", *f"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:{goal}".split()], check=True)
        (archive,) = folder.with_name(f"{folder.name}.partial").glob("*.tar.gz")
        subprocess.run(["tar", "xzf", archive.name], cwd=archive.parent, check=True)
        archive.unlink()
        archive.parent.rename(folder)
    return folder


class Apicurio:
    def __init__(self, folder):
        self.folder, self.port, self.process = folder, servers.free_port(), None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self):
        jar = unpacked() / f"apicurio-registry-app-{VERSION}-runner.jar"
        env = os.environ | {"QUARKUS_HTTP_HOST": "127.0.0.1", "QUARKUS_HTTP_PORT": str(self.port)}
        with open(self.folder / "apicurio.log", "ab") as log:
            self.process = servers.popen(["java", "-Xmx300m", "-jar", str(jar)], env=env, cwd=jar.parent, stdout=log, stderr=log)
        wait_until(self._ready, 60, "Apicurio to start", interval=0.5)
        return self

    def _ready(self):
        try:
            return urllib.request.urlopen(f"{self.url}/schemas/types", timeout=5).status == 200
        except OSError:
            assert self.process.poll() is None, (self.folder / "apicurio.log").read_text()
            return False

    def post(self, path, body):
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        return json.load(urllib.request.urlopen(request, timeout=10))

    def kill(self):
        self.process.kill()
        self.process.wait(10)


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory):
    server = Apicurio(tmp_path_factory.mktemp("apicurio")).start()
    yield server
    server.kill()


def test_what_the_official_serializer_registers_there_is_read_with_every_digit(new_worker, apicurio, kafka, names, sql):
    worker = new_worker(config={"registry.url": apicurio.url})
    client = SchemaRegistryClient({"url": apicurio.url})
    context = SerializationContext(names.source, MessageField.VALUE)
    versions = [
        (record(("kwh", DECIMAL)), {"kwh": Decimal("1." + "0" * 9 + "1")}),
        (record(("kwh", DECIMAL), ("quality", ["null", "string"])), {"kwh": Decimal("-2." + "0" * 10), "quality": "E14"}),
    ]
    records = []
    for n, (schema, value) in enumerate(versions, 1):
        payload = AvroSerializer(client, json.dumps(schema), conf={"subject.name.strategy": lambda *_: f"{names.prefix}{n}"})(value, context)
        records.append(dead_letter(read_key(n), payload))

    # A schema with a reference, by its id; the first of them by Apicurio's own 8 bytes; and an id that nobody has.
    apicurio.post("/subjects/unit/versions", {"schema": json.dumps(UNIT)})
    reference = {"name": "com.acme.Unit", "subject": "unit", "version": 1}
    body = {"schema": json.dumps(record(("unit", "com.acme.Unit"), ("kwh", "string"))), "references": [reference]}
    referring = apicurio.post("/subjects/referring/versions", body)["id"]
    records.append(dead_letter(read_key(3), struct.pack(">BI", 0, referring) + b"\0\x063.0"))
    with urllib.request.urlopen(f"{apicurio.url[:-10]}registry/v2/groups/default/artifacts/{names.prefix}1/meta") as answer:
        global_id = json.load(answer)["globalId"]
    records.append(dead_letter(read_key(4), struct.pack(">BQ", 0, global_id) + records[0]["value"][5:]))
    records.append(dead_letter(read_key(5), struct.pack(">BI", 0, 123456) + b"\0"))
    records.append(dead_letter(read_key(6), struct.pack(">BQ", 0, 123456) + b"\0"))
    produce(kafka, names.source, records)
    stats = worker.run_until_idle(expect=[1]).stats
    assert (stats["committed"], stats["parked"]) == (4, 2)
    assert sql("SELECT kwh FROM meter_read ORDER BY idempotency_key").split() == ["1.0000000001", "-2.0000000000", "3.0", "1.0000000001"]
    assert sql("SELECT quality, attributes FROM meter_read ORDER BY idempotency_key").split("\n")[1:3] == ["E14|", '|{"unit": "KWH"}']
    for event in worker.list(parked=True):
        assert "not in the registry" in event["entry"]["error"]["message"] or "HTTP 404" in event["entry"]["error"]["message"]
    worker.audit()


def test_our_own_schemas_are_registered_there_and_found_again(new_worker, apicurio):
    worker = new_worker(init=False, config={"registry.url": apicurio.url})
    assert worker.call("schemas").stdout.count(": missing, nothing of that name") == 3
    assert worker.call("schemas", "--execute").stdout.count(": registered, id ") == 3
    assert worker.call("schemas").stdout.count(": present, id ") == 3

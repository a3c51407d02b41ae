"""One real Kafka and one real Postgres for the session; topics, group and database for each test; the worker as a process."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import confluent_kafka  # noqa: E402
import reader  # noqa: E402
import servers  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402
from servers import wait_until  # noqa: E402, F401  (for the tests)

BINARY = Path(os.environ.get("METER_DLQ_BINARY", ROOT / "build" / "worker" / "meter-dlq"))
LONG = os.environ.get("METER_DLQ_LONG") == "1"

# --- configuration ---------------------------------------------------------------------------------------------------


def environment_name(key):
    if key.startswith("kafka."):
        return "METER_DLQ_KAFKA_" + "".join({".": "_", "_": "__", "-": "___"}.get(c, c) for c in key[6:]).upper()
    return "METER_DLQ_" + key.replace(".", "_").upper()


@dataclass(frozen=True)
class Names:
    """What one test calls its own."""

    prefix: str

    source = property(lambda self: f"{self.prefix}.dead-letter")
    dlq = property(lambda self: f"{self.prefix}.dlq")
    inbox = property(lambda self: f"{self.prefix}.dlq.inbox")
    parked = property(lambda self: f"{self.prefix}.parked")
    group = property(lambda self: f"{self.prefix}.group")
    database = property(lambda self: re.sub("[^a-z0-9]", "_", self.prefix.lower()))


def base_config(names, kafka, postgres, user=None):
    """The worker's keys for a test: its own names, these servers, times of seconds."""
    return {
        "source.topics": names.source,
        "dlq.topic": names.dlq,
        "inbox.topic": names.inbox,
        "parked.topic": names.parked,
        "group.id": names.group,
        "sink.conninfo": postgres.conninfo(dbname=names.database),
        "http.listen": "127.0.0.1:0",
        "kafka.session.timeout.ms": 4000,
        "kafka.heartbeat.interval.ms": 500,
        "kafka.transaction.timeout.ms": 5000,
        # Less than a transaction takes: one `run --until-idle` sees a poison read to its end.
        "replay.backoff.initial": "1ms",
        "replay.backoff.factor": 1,
        **{f"kafka.{k}": v for k, v in kafka.client_config(user).items()},
    }


# --- the worker ------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    code: int
    stdout: str
    stderr: str

    @property
    def stats(self):
        """The JSON line that `run --until-idle` prints last."""
        return json.loads(self.stdout.splitlines()[-1])

    @property
    def ledger(self):
        """The counts of `audit`'s lines `A..B: n dead letters, n reads: n settled, ...`, in its order."""
        lines = [line for line in self.stdout.splitlines() if re.search(r"\d+\.\.\d+: ", line)]
        return [{name: int(n) for n, name in re.findall(r"(\d+) ([a-z][a-z ]*?)(?=[,:]|$)", line)} for line in lines]


class Worker:
    """meter-dlq with the configuration of one test, given by environment variables; `config` in a call overrides keys."""

    def __init__(self, config, folder, library_path=None):
        self.config, self.folder, self.library_path = dict(config), Path(folder), library_path
        self.started = []

    def environment(self, config=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("METER_DLQ_", "PG"))}
        if self.library_path:
            env["LD_LIBRARY_PATH"] = str(self.library_path)
        merged = self.config | (config or {})
        return env | {environment_name(k): str(v) for k, v in merged.items() if v is not None}

    def call(self, *arguments, config=None, stdin="", timeout=60, expect=(0,)):
        """Runs a subcommand to its end."""
        command = [BINARY, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment(config), input=stdin.encode(), capture_output=True, timeout=timeout)
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"))
        with open(self.folder / "calls.log", "a") as log:
            log.write(f"$ meter-dlq {' '.join(map(str, arguments))}  -> {result.code}\n{result.stdout}{result.stderr}")
        assert result.code in expect, f"meter-dlq {' '.join(map(str, arguments))}: exit {result.code}\n{result.stdout}{result.stderr}"
        return result

    def init(self, partitions=6, **options):
        return self.call("init", "--partitions", partitions, **options)

    def put(self, lines, reason="retries_exhausted", **options):
        """`lines` are (key, payload) pairs or `key<TAB>payload` texts."""
        lines = [line if isinstance(line, str) else "\t".join(line) for line in lines]
        return self.call("put", "--reason", reason, stdin="".join(f"{line}\n" for line in lines), **options)

    def run_until_idle(self, expect=(0, 1), **options):
        return self.call("run", "--until-idle", expect=expect, **options)

    def list(self, *arguments, parked=False, **options):
        out = self.call("list", "-J", *(["--parked"] if parked else []), *arguments, **options).stdout
        return [json.loads(line) for line in out.splitlines()]

    def audit(self, *arguments, **options):
        return self.call("audit", *arguments, **options)

    def start(self, *arguments, config=None):
        """Starts `run` in the background. With {"crash.at": ...} a test build dies at that point."""
        log = self.folder / f"run-{len(self.started)}.log"
        with open(log, "wb") as out:
            command = [str(BINARY), "run", *map(str, arguments)]
            process = servers.popen(command, env=self.environment(config), stdout=out, stderr=out)
        running = Running(process, log)
        self.started.append(running)
        return running

    def kill_all(self):
        for running in self.started:
            running.kill()


class Running:
    """A worker in the background, its stdout and stderr in one log."""

    def __init__(self, process, log):
        self.process, self.log_file = process, log

    @property
    def pid(self):
        return self.process.pid

    @property
    def alive(self):
        return self.process.poll() is None

    def log(self):
        return self.log_file.read_text(errors="replace")

    def wait_for_log(self, pattern, timeout=30):
        """The first match; an error as soon as the worker is gone without one."""

        def found():
            alive = self.alive
            match = re.search(pattern, self.log(), re.MULTILINE)
            assert match or alive, f"exit {self.process.returncode} before the log had {pattern!r}:\n{self.log()}"
            return match

        return wait_until(found, timeout, f"{pattern!r} in the log of the worker")

    def count_log(self, pattern):
        return len(re.findall(pattern, self.log(), re.MULTILINE))

    def wait_restored(self, times=1, timeout=30):
        """Until it has taken over what the group gave it, that often since its start."""
        wait_until(lambda: self.count_log('"restored"') >= times or not self.alive, timeout, "the worker to restore")
        assert self.alive, f"exit {self.process.returncode}:\n{self.log()}"

    def wait(self, timeout=30):
        """The exit code."""
        return self.process.wait(timeout)

    def terminate(self, timeout=10):
        """SIGTERM; the exit code, which the worker owes within 10 s."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        self.process.kill()
        return self.wait(10)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: servers.stat_of(self.pid)[0] == "T", 10, "the worker to stop")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def http(self, path):
        """GET from the port that the worker logged; the body whatever the status is."""
        port = self.wait_for_log(r"127\.0\.0\.1:(\d+)\b.*[Hh][Tt][Tt][Pp]|[Hh][Tt][Tt][Pp].*127\.0\.0\.1:(\d+)\b")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port[1] or port[2]}{path}", timeout=10) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def metrics(self):
        """{`name{labels}`: value}."""
        lines = [line for line in self.http("/metrics").splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


# --- reads -----------------------------------------------------------------------------------------------------------


def read_key(n, meter="MTR", sequence=1):
    return f"{meter}-{n:08d}|2026-07-17T00:00:00+00:00|{sequence}"


def dead_letter(key, payload, reason="retries_exhausted", headers=(), **options):
    """A native dead letter for produce(); texts are sent as UTF-8."""
    key, payload = (v.encode() if isinstance(v, str) else v for v in (key, payload))
    return {"key": key, "value": payload, "headers": [("dlq-reason", reason), *headers], **options}


def good(numbers, **options):
    return [dead_letter(read_key(n), f'{{"kwh": "{n}.50"}}', **options) for n in numbers]


def bad(numbers, **options):
    """Well-formed reads of meters that `refuse` keeps out of the table."""
    return [dead_letter(read_key(n, "BAD"), f'{{"kwh": "{n}.50"}}', **options) for n in numbers]


def refuse(sql, name="refused"):
    sql(f"ALTER TABLE meter_read ADD CONSTRAINT {name} CHECK (meter_id NOT LIKE 'BAD%')")


def accept(sql, name="refused"):
    sql(f"ALTER TABLE meter_read DROP CONSTRAINT {name}")


def log_inserts(sql):
    """Lets the table `inserts` count the committing writes of each key."""
    sql(
        "CREATE TABLE inserts (key text);"
        "CREATE FUNCTION log_insert() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO public.inserts VALUES (NEW.idempotency_key); RETURN NULL; END';"
        "CREATE TRIGGER log_insert AFTER INSERT ON meter_read FOR EACH ROW EXECUTE FUNCTION log_insert()"
    )


def commit_live(sql, key, kwh):
    """What the live pipeline does with a read."""
    meter, instant, sequence = key.split("|")
    return sql(
        f"SELECT outcome FROM commit_meter_reads(ARRAY['{key}'], ARRAY['{meter}'], ARRAY['{instant}'::timestamptz],"
        f" ARRAY[{sequence}::bigint], ARRAY[{kwh}::numeric], ARRAY[NULL::text], ARRAY[NULL::text], ARRAY[NULL::jsonb])"
    )


def check_attempts(state, copies=1):
    """No good read was charged with a failed replay; a bad one was parked by the failed replay that reached the cap."""
    for key, entry in state.history:
        if entry and not key.startswith(b"BAD"):
            assert entry["replays"] == 0 and entry["attempts"] <= copies, f"an attempt was burnt: {entry}"
    for (key, _), event in state.parked.items():
        if key.startswith("BAD"):
            attempts, replays = event["entry"]["attempts"], event["entry"]["replays"]
            assert event["cause"] == "poison_cap", event
            assert 1 <= attempts - replays <= copies and 5 <= attempts < 5 + copies, event


# --- topics ----------------------------------------------------------------------------------------------------------


def create_topic(kafka, topic, partitions, **config):
    admin = AdminClient(kafka.client_config())
    new = NewTopic(topic, partitions, 1, config={k.replace("_", "."): str(v) for k, v in config.items()})
    admin.create_topics([new])[topic].result(30)


def delete_topics(kafka, names):
    """A broker that keeps the partitions of all tests takes long to start again."""
    admin = AdminClient(kafka.client_config())
    there = [topic for topic in admin.list_topics(timeout=10).topics if topic.startswith(f"{names.prefix}.")]
    for deleted in admin.delete_topics(there).values() if there else ():
        deleted.result(30)


def produce(kafka, topic, records, **config):
    """`records` are dicts of Producer.produce: key, value, headers, partition, timestamp."""
    failures = []
    producer = confluent_kafka.Producer(kafka.client_config() | {"partitioner": "murmur2_random", "linger.ms": 5} | config)
    for record in records:
        producer.produce(topic, on_delivery=lambda error, _: error and failures.append(error), **record)
        producer.poll(0)
    left = producer.flush(30)
    assert not left and not failures, f"{left} not delivered; {failures[:3]}"


def reset_offsets(kafka, names, *arguments):
    """The stock tool, which asks that no member is left in the group."""
    arguments = arguments or ("--to-earliest",)
    group = ("--group", names.group, "--topic", names.source, "--reset-offsets", "--execute")
    return kafka.kafka_tool("consumer-groups", *group, *arguments)


def delete_offsets(kafka, names):
    """What kafka-consumer-groups --delete does."""
    admin = AdminClient(kafka.client_config())
    admin.delete_consumer_groups([names.group])[names.group].result(30)


@contextlib.contextmanager
def load(kafka, topic, rate=300, bad_every=25, twice_every=10, first=0):
    """Dead-letters reads in the background: good ones, some of them twice, and bad ones. Yields their numbers so far."""
    numbers, stop, failures = [], threading.Event(), []
    producer = confluent_kafka.Producer(
        kafka.client_config() | {"partitioner": "murmur2_random", "linger.ms": 20, "enable.idempotence": True}
    )

    def feed():
        for n in itertools.count(first):
            make = bad if bad_every and n % bad_every == 1 else good
            twice = make is good and twice_every and n % twice_every == 0
            for record in make([n]) * (2 if twice else 1):
                producer.produce(topic, on_delivery=lambda error, _: error and failures.append(error), **record)
            numbers.append(n)
            producer.poll(0)
            if stop.wait(1 / rate):
                return

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield numbers
    finally:
        stop.set()
        thread.join()
        left = producer.flush(60)
    assert not left and not failures, f"{left} not delivered; {failures[:3]}"


def wait_drained(kafka, names, timeout=60):
    """Until every dead letter is taken in and no entry is live."""

    def drained():
        config = kafka.client_config()
        return (
            not reader.lag(config, names.group, names.source)
            and not reader.records_ahead(config, names.group, names.inbox)
            and not read_state(kafka, names).live
        )

    wait_until(drained, timeout, "the queue to drain", interval=0.5)


def read_state(kafka, names):
    return reader.read_state(kafka.client_config(), names.dlq, names.parked)


# --- fixtures --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def server_folder(request):
    """Not pytest's own folder, which the user that Postgres runs as may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="meter-dlq-"))
    folder.chmod(0o755)
    yield folder
    if request.session.testsfailed:
        print(f"\nthe servers' logs are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka(server_folder):
    server = servers.Kafka(server_folder / "kafka")
    yield server.start()
    server.kill()


@pytest.fixture(scope="session")
def postgres(server_folder):
    # What is killed here is a process, never the machine.
    server = servers.Postgres(server_folder / "postgres", settings={"fsync": "off"})
    yield server.start()
    server.kill()


@pytest.fixture(scope="session")
def secure_kafka(server_folder):
    """SASL_SSL with SCRAM for the user `meter-dlq`; without ACLs until the test makes them."""
    server = servers.Kafka(server_folder / "secure-kafka", secure=True)
    yield server.start()
    server.kill()


@pytest.fixture(scope="session")
def secure_postgres(server_folder):
    server = servers.Postgres(server_folder / "secure-postgres", ssl=True)
    yield server.start()
    server.kill()


@pytest.fixture(scope="session")
def newer_librdkafka(server_folder):
    """A folder for LD_LIBRARY_PATH with the librdkafka of the Python client: SCRAM with Kafka 4 fails below 2.6.1."""
    libraries = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    folder = server_folder / "lib"
    folder.mkdir()
    (folder / "librdkafka.so.1").symlink_to(next(libraries.glob("librdkafka-*.so.1")))
    return folder


@pytest.fixture
def names(request):
    test = re.sub("[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_")).strip("-")
    return Names(f"{test[:40]}-{uuid.uuid4().hex[:6]}")


@pytest.fixture
def new_worker(request, names, tmp_path):
    """new_worker(partitions=6, config={}, kafka=..., postgres=..., user=None, init=True): a Worker with this test's names."""
    workers, used = [], set()

    def make(partitions=6, config=None, kafka=None, postgres=None, user=None, init=True, library_path=None):
        kafka = kafka or request.getfixturevalue("kafka")
        postgres = postgres or request.getfixturevalue("postgres")
        used.add(kafka)
        if postgres.psql(f"SELECT 1 FROM pg_database WHERE datname = '{names.database}'") == "":
            postgres.psql(f'CREATE DATABASE "{names.database}"')
        folder = tmp_path / f"worker-{len(workers)}"
        folder.mkdir()
        worker = Worker(base_config(names, kafka, postgres, user) | (config or {}), folder, library_path)
        workers.append(worker)
        request.node.workers = workers
        if init:
            worker.init(partitions)
        return worker

    yield make
    for worker in workers:
        worker.kill_all()
    for kafka in used:
        delete_topics(kafka, names)


@pytest.fixture
def worker(new_worker):
    return new_worker()


@pytest.fixture
def sql(postgres, names):
    """sql(text): runs it in this test's database; rows as text, fields separated by `|`."""
    return lambda text: postgres.psql(text, dbname=names.database)


def compare_ledgers(worker, kafka, postgres, names, **options):
    """The audit is clean and agrees, partition by partition, with the independent reader."""
    state = read_state(kafka, names)
    rows = reader.read_rows(postgres.conninfo(dbname=names.database))
    own = reader.ledger(kafka.client_config(), [names.source], state, rows)
    words = ("dead letters", "reads", "settled", "queued", "parked", "missing", "different")
    expected = [{word: counts[word] for word in words} for counts in own.values()]
    for line, counts in zip(expected, own.values(), strict=True):
        line |= {"written off": counts["written off"]} if counts["written off"] else {}
    audit = worker.audit(**options)
    assert audit.ledger == expected
    assert "deleted there" not in audit.stderr  # compaction takes no records that are needed
    return state, rows


@pytest.fixture
def check_ledger(kafka, postgres, names):
    """check_ledger(worker): compare_ledgers() for this test; returns the reader's (state, rows)."""
    return lambda worker, **options: compare_ledgers(worker, kafka, postgres, names, **options)


# --- pytest ----------------------------------------------------------------------------------------------------------


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs only with METER_DLQ_LONG=1 (tests/run --long)")
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("SIGTERM", 143))


def pytest_collection_modifyitems(config, items):
    if not LONG:
        chosen = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        for worker in getattr(item, "workers", []):
            for log in sorted(worker.folder.glob("*.log")):
                text = log.read_text(errors="replace")
                report.sections.append((f"{worker.folder.name}/{log.name}", text[-8000:]))
    return report

"""The parts of the benchmark, on servers of their own: see tests/bench/run."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import servers
from processes import GIVE_UP_S, BenchError, clean_environment, cpu_of, cpu_of_server, figures, measure, memory_of, started

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("METER_DLQ_BUILD", "build")).resolve()
METER_DLQ = BUILD / "worker" / "meter-dlq"
PG_INSERT = BUILD / "tests" / "bench" / "pg_insert"
PG_ISOLATION = BUILD / "tests" / "bench" / "pg_isolation"
GO_WORKER = BUILD / "tests" / "bench" / "go_worker"
KAFKA_CONSUME = BUILD / "tests" / "bench" / "kafka_consume"

CONNECTIONS = (1, 2, 4)
PARTITIONS = 12
FEW_ENTRIES = 1000
BAD_EVERY = {"e": 0, "e5000": 5000, "e100": 100, "e1": 1}  # of e, a bad read in so many
ISOLATION_ROUNDS = 3  # the best one counts of each
RESTORES = 3  # the best one counts, of the bare consume too
WARM_UP_READS = 100_000  # through the worker before b: a broker that has just started has compiled little of itself

POSTGRES_SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",  # it would work during some of the runs; each begins after a VACUUM and a CHECKPOINT
}
KAFKA_SETTINGS = {"num.partitions": PARTITIONS}
KAFKA_JVM = ("-Xmx2g",)


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# --- reads -----------------------------------------------------------------------------------------------------------


def line(n):
    """A read as `meter-dlq put` takes it: one of the 96 of a meter's day."""
    meter = f"MTR-{n // 96:08d}"
    instant = f"2026-07-17T{n % 96 // 4:02d}:{n % 4 * 15:02d}:00+00:00"
    payload = {
        "meter_id": meter,
        "read_at": instant,
        "sequence": 1,
        "kwh": f"{n % 9973}.{n % 1000:03d}",
        "reading_type": "1-0:1.8.0*255",
        "quality": "MEASURED",
    }
    return f"{meter}|{instant}|1\t{json.dumps(payload)}\n"


def write_lines(path, count):
    """In an order that is no order of keys, as reads of many meters come in."""
    numbers = list(range(count))
    random.Random(1).shuffle(numbers)
    with open(path, "w") as out:
        out.writelines(map(line, numbers))


# --- the benchmark ---------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.kafka = servers.Kafka(folder / "kafka", settings=KAFKA_SETTINGS, jvm=KAFKA_JVM)
        self.postgres = servers.Postgres(folder / "postgres", settings=POSTGRES_SETTINGS)
        self.parts, self.digest = {}, None

    def start(self):
        say("starting Kafka and Postgres")
        self.kafka.start()
        self.postgres.start()

    def stop(self):
        self.kafka.kill()
        self.postgres.kill()

    def run(self):
        steps = {"d": self.restore, "a": self.insert, "b": self.drain_new, "c": self.drain_committed, "e": self.isolate, "g": self.drain_with_go}
        for part, step in steps.items():
            if part in self.options.only:
                step()

    def call(self, *arguments, **options):
        command = [str(METER_DLQ), *map(str, arguments)]
        done = subprocess.run(command, env=clean_environment(), stderr=subprocess.PIPE, timeout=GIVE_UP_S, **options)
        if done.returncode:
            raise BenchError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode()}")

    def config(self, part, **settings):
        """A configuration file for the topics of a part; all else has the defaults."""
        values = {
            "kafka.bootstrap.servers": self.kafka.bootstrap,
            "sink.conninfo": self.postgres.conninfo(),
            "source.topics": f"{part}.dead-letter",
            "dlq.topic": f"{part}.dlq",
            "inbox.topic": f"{part}.dlq.inbox",
            "parked.topic": f"{part}.parked",
            "group.id": part,
            "http.listen": "127.0.0.1:0",
        } | {name.replace("_", "."): value for name, value in settings.items()}
        path = self.folder / f"{part}.{len(settings)}.conf"
        path.write_text("".join(f"{k} = {v}\n" for k, v in values.items()))
        return path

    def lines(self, count):
        path = self.folder / f"{count}.lines"
        if not path.exists():
            write_lines(path, count)
        return path

    def dead_letter(self, part, count):
        self.call("init", "--partitions", PARTITIONS, "-F", self.config(part))
        with open(self.lines(count)) as lines:
            self.call("put", "-F", self.config(part), stdin=lines)

    def delete_topics(self, part):
        self.kafka.kafka_tool("topics", "--delete", "--topic", rf"{part}\..*")

    def sql(self, text):
        return self.postgres.psql(text, timeout=GIVE_UP_S)

    def settle_postgres(self):
        self.sql("VACUUM ANALYZE meter_read")
        self.sql("CHECKPOINT")

    def table_digest(self):
        columns = "idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality, attributes"
        return self.sql(f"SELECT count(*), sum(hashtextextended(row({columns})::text, 0)) FROM meter_read")

    def measure(self, command, **options):
        """With the CPU seconds of the servers."""
        before = cpu_of_server(self.kafka), cpu_of_server(self.postgres)
        output, took = measure(command, self.folder / "log", **options)
        after = cpu_of_server(self.kafka), cpu_of_server(self.postgres)
        return output, took | {"kafka_cpu": after[0] - before[0], "postgres_cpu": after[1] - before[1]}

    # --- a0 and a ---

    def insert(self):
        self.call("init", "-F", self.config("a"))  # for the SQL
        self.delete_topics("a")
        runs = {"a0": [], "a": []}
        for connections in CONNECTIONS:
            for part, how in (("a0", "bare"), ("a", "function")):
                say(f"{part}: {connections} connections")
                runs[part].append(self.insert_once(how, connections))
        for part, results in runs.items():
            self.parts[part] = self.best(results)

    def best(self, results):
        best = max(results, key=lambda result: result["rate"])
        return best | {"rate_by_connections": {r["connections"]: round(r["rate"]) for r in results}}

    def insert_once(self, how, connections):
        self.sql("TRUNCATE meter_read")
        self.settle_postgres()
        with open(self.lines(self.options.reads)) as lines:
            output, took = self.measure([PG_INSERT, self.postgres.conninfo(), how, connections], stdin=lines)
        self.expect_table()
        printed = json.loads(output)  # its clock is without the making of the arrays
        took |= {name: printed[name] for name in ("seconds", "user", "sys")}
        return figures(printed["reads"], took | {"connections": connections})

    def expect_table(self):
        """All runs write the same rows."""
        digest = self.table_digest()
        self.digest = self.digest or digest
        if digest != self.digest:
            raise BenchError(f"the table holds other rows than after the first run: {digest}, not {self.digest}")

    # --- b and c ---

    def drain(self, part, outcome, count, connections=1):
        say(f"{part}: {count:,} dead letters, {connections} connections")
        self.dead_letter(part, count)
        if outcome == "committed":
            self.sql("TRUNCATE meter_read")
        self.settle_postgres()
        config = self.config(part, sink_connections=connections)
        output, took = self.measure([METER_DLQ, "run", "--until-idle", "-F", config])
        stats = json.loads(output.splitlines()[-1])
        if (stats["intake"], stats[outcome]) != (count, count):
            raise BenchError(f"part {part}: not all {outcome}: {stats}")
        self.delete_topics(part)
        return figures(count, took | {"connections": connections})

    def drain_each(self, part, outcome):
        """With as many connections as a0 and a have in turn; the best one counts, as there."""
        results = []
        for connections in CONNECTIONS:
            results.append(self.drain(f"{part}{connections}", outcome, self.options.reads, connections))
            self.expect_table()
        self.parts[part] = self.best(results)

    def drain_new(self):
        self.drain("warm-up", "committed", min(WARM_UP_READS, self.options.reads))
        self.drain_each("b", "committed")

    def drain_committed(self):
        self.drain_each("c", "duplicate")

    # --- e ---

    def isolate(self):
        self.call("init", "-F", self.config("e"))  # for the SQL
        self.delete_topics("e")
        self.sql("TRUNCATE meter_read")
        self.sql("ALTER TABLE meter_read ADD CONSTRAINT no_bad CHECK (meter_id <> 'BAD')")
        runs = {part: [] for part in BAD_EVERY}
        for number in range(ISOLATION_ROUNDS):
            say(f"e: round {number + 1}")
            for part, every in BAD_EVERY.items():  # side by side, as the load of the machine changes
                runs[part].append(self.isolate_once(every))
        self.sql("ALTER TABLE meter_read DROP CONSTRAINT no_bad")
        for part, results in runs.items():
            self.parts[part] = max(results, key=lambda result: result["rate"])

    def isolate_once(self, every):
        self.sql("TRUNCATE meter_read")
        self.settle_postgres()
        batches = max(2, self.options.reads // (100_000 if every == 1 else 25_000))
        output, took = self.measure([PG_ISOLATION, self.postgres.conninfo(), every, batches])
        printed = json.loads(output)
        return figures(printed["reads"], took | {"seconds": printed["seconds"]})

    # --- g ---

    def drain_with_go(self):
        say(f"g: {self.options.reads:,} dead letters")
        self.dead_letter("g", self.options.reads)
        self.sql("TRUNCATE meter_read")
        self.settle_postgres()
        topics = ["-brokers", self.kafka.bootstrap, "-group", "g", "-source", "g.dead-letter", "-dlq", "g.dlq"]
        output, took = self.measure([GO_WORKER, *topics, "-conninfo", self.postgres.conninfo(), "-reads", self.options.reads])
        if (printed := json.loads(output))["inserted"] != self.options.reads:
            raise BenchError(f"part g: {printed}")
        self.expect_table()
        self.delete_topics("g")
        self.parts["g"] = figures(self.options.reads, took) | {"drain_seconds": printed["drain_seconds"]}  # without joining the group

    # --- d ---

    def restore(self):
        few, _ = self.restore_and_consume(FEW_ENTRIES)
        many, bare = self.restore_and_consume(self.options.entries)
        spread = self.options.entries - FEW_ENTRIES
        self.parts["d0"] = bare
        self.parts["d"] = many | {
            "bytes_per_entry": (many["peak_bytes"] - few["peak_bytes"]) / spread,
            "bytes_per_entry_afterwards": (many["now_bytes"] - few["now_bytes"]) / spread,
            "bytes_at_few_entries": few["peak_bytes"],
        }

    def restore_and_consume(self, entries):
        part = f"d{entries}"
        say(f"d: {entries:,} live entries")
        self.dead_letter(part, entries)
        self.fill(part, entries)
        restores, consumes = [], []
        for _ in range(RESTORES):
            restores.append(self.restore_once(part, entries))  # first: it waits for markers of the last transactions
            consumes.append(self.consume_once(part, entries))
        self.delete_topics(part)
        best = min(restores, key=lambda took: took["seconds"])
        memory = {name: max(took[name] for took in restores) for name in ("peak_bytes", "now_bytes")}
        return figures(entries, best | memory), figures(entries, min(consumes, key=lambda took: took["seconds"]))

    def intake_only(self, part):
        return self.config(part, replay_auto="false")

    def fill(self, part, entries):
        output, _ = self.measure([METER_DLQ, "run", "--until-idle", "-F", self.intake_only(part)])
        if (stats := json.loads(output.splitlines()[-1]))["intake"] != entries:
            raise BenchError(f"part d: {entries} dead letters were put, but: {stats}")

    def restore_once(self, part, entries):
        """From the start of a worker until it logs that it has restored."""
        kafka_before, begin = cpu_of_server(self.kafka), time.monotonic()
        command = [METER_DLQ, "run", "-F", self.intake_only(part)]
        with started(command, stderr=subprocess.PIPE) as worker:
            text = next((e["text"] for e in map(json.loads, worker.stderr) if e["event"] == "restored"), None)
            seconds, cpu, memory = time.monotonic() - begin, cpu_of(worker.pid), memory_of(worker.pid)
            if text is None or f" {entries} live entries" not in text:
                raise BenchError(f"part d: {text}")
            kafka_cpu = cpu_of_server(self.kafka) - kafka_before
            threading.Thread(target=worker.stderr.read).start()  # it must not wait for a full pipe
            stop(worker)
        names = ("seconds", "user", "sys", "peak_bytes", "now_bytes", "kafka_cpu")
        return dict(zip(names, (seconds, *cpu, *memory, kafka_cpu))) | {"restored": text}

    def consume_once(self, part, entries):
        output, took = self.measure([KAFKA_CONSUME, self.kafka.bootstrap, f"{part}.dlq"])
        printed = json.loads(output)
        if printed["records"] < entries:
            raise BenchError(f"part d: kafka_consume read {printed['records']} records of {entries} entries")
        return took | printed


def stop(worker):
    worker.send_signal(signal.SIGTERM)
    if worker.wait(30):
        raise BenchError(f"the worker ended with {worker.returncode} after SIGTERM")

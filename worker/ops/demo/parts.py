"""The worker and the database, as the demo uses them."""

import contextlib
import http.client
import json
import os
import subprocess
from pathlib import Path

import servers
from sample import CAP
from screen import Failed

ROOT = Path(__file__).resolve().parents[3]
BINARY = (ROOT / os.environ.get("BUILD_DIR", "build") / "worker" / "meter-dlq").resolve()
DATABASE = "meters"


class Worker:
    """meter-dlq with the configuration file of the demo."""

    def __init__(self, folder):
        self.folder, self.config = folder, folder / "demo.conf"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("METER_DLQ_", "PG"))}
        self.process = self.log = None
        self.runs = 0

    def configure(self, kafka, postgres):
        self.http_port = servers.free_port()
        self.config.write_text(
            f"# meter-dlq COMMAND -F {self.config}\n"
            f"kafka.bootstrap.servers = {kafka.bootstrap}\n"
            f"sink.conninfo = {postgres.conninfo(dbname=DATABASE)}\n"
            f"http.listen = 127.0.0.1:{self.http_port}\n"
            f"poison.cap = {CAP}\n"
            "# A static member: its next start takes over at once, and the group forgets it after 4 s.\n"
            "instance.id = demo\n"
            "kafka.session.timeout.ms = 4000\n"
            "kafka.heartbeat.interval.ms = 1000\n"
        )

    def call(self, command, *flags, lines=(), expect=0):
        """Runs a subcommand to its end; returns what it printed."""
        words = [BINARY, command, "-F", self.config, *flags]
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run(words, input=text, env=self.env, capture_output=True, text=True, timeout=90)
        if done.returncode != expect:
            said = f"{done.stderr}{done.stdout}".strip()
            raise Failed(f"meter-dlq {' '.join((command, *flags))}: exit {done.returncode}, not {expect}\n{said}")
        return done.stdout

    def json_lines(self, command, *flags):
        return [json.loads(line) for line in self.call(command, "-J", *flags).splitlines()]

    def queue(self):
        """{idempotency key: entry}"""
        return {entry["idempotency_key"]: entry for entry in self.json_lines("list")}

    def parked(self):
        """{idempotency key: parked read}. No key of the sample is parked twice."""
        return {parked["entry"]["idempotency_key"]: parked for parked in self.json_lines("list", "--parked")}

    def start(self, *flags):
        """Runs it in the background, until it is killed or terminated."""
        self.runs += 1
        words = [BINARY, "run", "-F", self.config, *flags]
        self.log = self.folder / f"worker-{self.runs}.log"
        with open(self.log, "wb") as log:
            self.process = servers.popen(words, env=self.env, stdout=log, stderr=log)

    def wait_until(self, condition, timeout, what):
        """As that of servers, but fails as soon as the worker is gone."""

        def holds():
            if self.process.poll() is not None:
                end = "\n".join(self.log.read_text(errors="replace").splitlines()[-3:])
                raise Failed(f"waited for {what}, but the worker ended with exit {self.process.returncode}:\n{end}")
            return condition()

        servers.wait_until(holds, timeout, what)

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"meter_dlq_{name} "))

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait(10)

    def terminate(self):
        """Its exit code, which it owes within 10 s."""
        self.process.terminate()
        return self.process.wait(10)


MASTER_DATA = """
CREATE TABLE meter (meter_id text PRIMARY KEY);
INSERT INTO meter SELECT 'MTR-' || lpad(n::text, 8, '0') FROM generate_series(1, 10) n;
ALTER TABLE meter_read ADD CONSTRAINT meter_is_known FOREIGN KEY (meter_id) REFERENCES meter;
"""

SLOW = """
CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END';
CREATE TRIGGER be_slow BEFORE INSERT ON meter_read FOR EACH ROW EXECUTE FUNCTION be_slow();
"""


def sql_array(values, type):
    words = ("NULL" if value is None else f"'{value}'" for value in values)
    return f"ARRAY[{', '.join(words)}]::{type}[]"


class Database:
    def __init__(self, postgres):
        self.postgres = postgres

    def sql(self, text):
        return self.postgres.psql(text, dbname=DATABASE)

    def create(self):
        self.postgres.psql(f"CREATE DATABASE {DATABASE}")

    def load_master_data(self):
        """From now on it refuses reads of a meter that it does not know."""
        self.sql(MASTER_DATA)

    def know(self, meter):
        self.sql(f"INSERT INTO meter VALUES ('{meter}')")

    def slow_down(self):
        self.sql(SLOW)

    def speed_up(self):
        self.sql("DROP TRIGGER be_slow ON meter_read")

    def commit(self, reads):
        """As the live pipeline does."""
        columns = [
            ([read.key for read in reads], "text"),
            ([read.meter for read in reads], "text"),
            ([read.instant for read in reads], "timestamptz"),
            ([1] * len(reads), "bigint"),
            ([read.kwh for read in reads], "numeric"),
            *(([None] * len(reads), type) for type in ("text", "text", "jsonb")),
        ]
        self.sql(f"SELECT commit_meter_reads({', '.join(sql_array(*column) for column in columns)})")

    def count(self):
        return int(self.sql("SELECT count(*) FROM meter_read"))

    def amounts(self):
        """{idempotency key: kwh as text}"""
        lines = self.sql("SELECT idempotency_key || ' ' || kwh FROM meter_read").splitlines()
        return dict(line.split(" ") for line in lines)

    def rows(self):
        """Every column of every row, and the transaction that wrote it."""
        return set(self.sql("SELECT xmin, m FROM meter_read m").splitlines())

    def idle(self):
        others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        return self.sql(f"SELECT count(*) FROM pg_stat_activity WHERE {others}") == "0"

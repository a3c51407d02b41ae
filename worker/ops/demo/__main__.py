"""What worker/demo shows, after it has built the worker: real servers, sample reads, and what becomes of each of them.

Standard library only. What it claims is checked against what was sent; the first claim that is not so ends it with exit 1.
"""

import concurrent.futures
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "support"))

import servers  # noqa: E402
from parts import BINARY, DATABASE, ROOT, Database, Worker  # noqa: E402
from sample import CAP, Sample  # noqa: E402
from screen import Failed, Screen, due  # noqa: E402
from servers import wait_until  # noqa: E402

SOURCE, GROUP = "meter-reads.dead-letter", "meter-dlq"
OUTAGE_S = 3

# Retries within seconds: the default is 5 minutes, then 30, then 3 hours.
SHORT_BACKOFF = ("--replay.backoff.initial=2s", "--replay.backoff.factor=2", "--replay.backoff.max=4s")

# What the outcomes of `run --until-idle` mean after a rewind.
MEANINGS = {
    "committed": "could not be before, could be now",
    "duplicate": "is in the table: nothing changes",
    "requeued": "failed again: its second round begins",
    "parked": "parked anew",
    "merged": "dead-lettered anew while in the queue",
    "seen": "is in the queue or parked: nothing changes",
}


class Demo:
    """A method for each step, in order."""

    def __init__(self, folder, keep):
        self.kafka = servers.Kafka(folder / "kafka", settings={"num.partitions": 4}, detached=keep)
        self.postgres = servers.Postgres(folder / "postgres", detached=keep)
        self.folder = folder
        self.worker, self.database = Worker(folder), Database(self.postgres)
        self.screen, self.sample = Screen(), Sample()

    def run(self):
        self.start_servers()
        self.commit_live()
        self.dead_letter()
        self.kill_half_way()
        self.restart()
        self.outage()
        self.park()
        self.rewind()
        self.audit()

    def start_servers(self):
        self.screen.step(
            "A real Kafka and a real Postgres",
            "They run on free ports of 127.0.0.1 with all they keep in one folder. `meter-dlq init` makes the topics and "
            "installs the SQL function through which both the live pipeline and the worker commit.",
        )
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda server: server.start(), (self.kafka, self.postgres)))
        self.database.create()
        self.worker.configure(self.kafka, self.postgres)
        self.worker.call("init", "--partitions", "6")
        self.database.load_master_data()
        version = self.postgres.psql("SHOW server_version").split()[0]
        rows = [
            (f"Kafka {self.kafka.version}", self.kafka.bootstrap),
            (f"Postgres {version}", f"127.0.0.1:{self.postgres.port}, database {DATABASE}"),
            ("folder", self.folder),
        ]
        self.screen.table(("server", "where"), rows)

    def commit_live(self):
        reads = self.sample.by_live_pipeline
        self.screen.step(
            "The live pipeline commits some reads",
            "Many reads that land on a dead-letter topic were committed all the same: an acknowledgement was lost, or "
            "the pipeline tried again. The worker must not bill them twice.",
        )
        self.database.commit(reads)
        self.check_rows(reads)

    def dead_letter(self):
        kinds = self.sample.kinds()
        self.screen.step(
            "The live pipeline dead-letters reads of all kinds",
            f"`meter-dlq put` writes them to the topic {SOURCE}, mixed. The database refuses reads of meters that its "
            "master data lacks: poison that no number of retries helps.",
        )
        self.worker.call("put", "--reason", "permanent_4xx", lines=[read.line for read in self.sample.permanent])
        self.worker.call("put", lines=self.sample.mixed_lines())
        total = ("total", sum(kind[1] for kind in kinds), sum(kind[2] for kind in kinds), "")
        self.screen.table(("kind", "reads", "dead letters", "what should become of them"), [*kinds, total])

    def kill_half_way(self):
        before = len(self.sample.by_live_pipeline)
        everything = len(self.sample.by_worker)
        self.screen.step(
            "The worker runs and is killed half-way",
            "kill -9 gives it no time to tidy up. What it had committed to Postgres but not yet noted in Kafka must be "
            "neither lost nor committed again. (The table is slowed down, so that there is a half-way.)",
        )
        self.database.slow_down()
        self.worker.start("--batch.max.records=20", *SHORT_BACKOFF)
        half = everything // 2
        self.worker.wait_until(lambda: self.database.count() >= before + half, 60, "half of the reads to be committed")
        self.worker.kill()
        # What it had sent is still on its way through Postgres.
        wait_until(self.database.idle, 30, "Postgres to be done with the dead worker")
        self.by_first = self.database.count() - before
        self.screen.check(f"killed with {self.by_first} of {everything} reads committed", half <= self.by_first < everything)

    def restart(self):
        self.screen.step(
            "It is started again",
            "It aborts what its predecessor left open, rebuilds its queue from the topics, and goes on. A read that the "
            "database refuses costs its neighbours in the batch nothing; it waits for its next try.",
        )
        self.database.speed_up()
        self.worker.start(*SHORT_BACKOFF)
        live = self.sample.by_live_pipeline
        queue = self.await_drained(live + self.sample.by_worker)
        by_second = self.database.count() - len(live) - self.by_first
        by = {"the live pipeline": len(live), "the worker that was killed": self.by_first, "its successor": by_second}
        self.screen.table(("committed by", "reads"), by.items())
        self.check_rows(live + self.sample.by_worker)
        self.screen.say("In the queue (`meter-dlq list`) are the reads of unknown meters:")
        self.show_queue(queue)

    def await_drained(self, reads):
        """Returns the queue when it holds nothing but reads of unknown meters that have failed once at least."""
        unknown = {read.key for read in self.sample.unknown}
        queue = {}

        def drained():
            nonlocal queue
            queue = self.worker.queue()
            failed = all(entry["attempts"] > 1 for entry in queue.values())
            return failed and set(queue) <= unknown and self.database.count() >= len(reads)

        self.worker.wait_until(drained, 60, "the queue to be drained")
        return queue

    def check_rows(self, reads):
        expected = {read.key: read.kwh for read in reads}
        claim = f"the table has {len(expected)} rows, one a read, every amount digit for digit"
        self.screen.check(claim, self.database.amounts(), expected)

    def show_queue(self, queue):
        entries = sorted(queue.values(), key=lambda entry: entry["due_utc"])
        rows = [(e["idempotency_key"], e["attempts"], due(e), (e["error"] or {}).get("code") or "-") for e in entries]
        self.screen.table(("key", "attempts", "due", "SQLSTATE"), rows)

    def outage(self):
        self.screen.step(
            "Postgres goes away for some seconds",
            "An outage is not the fault of the reads, so it must not use up their attempts, or an hour of it would park "
            f"them all. {len(self.sample.in_outage)} more dead letters come in meanwhile.",
        )
        self.postgres.stop()
        end = datetime.now(timezone.utc) + timedelta(seconds=OUTAGE_S)
        self.worker.call("put", lines=[read.line for read in self.sample.in_outage])
        self.worker.wait_until(self.outage_noticed, 30, "the worker to notice the outage")
        before = self.worker.queue()
        end = max(end, *(datetime.fromisoformat(entry["due_utc"]) for entry in before.values()))
        self.worker.wait_until(lambda: datetime.now(timezone.utc) > end, 30, "all entries to be due")
        self.compare_attempts(before, self.worker.queue())
        self.postgres.start()
        reads = self.sample.by_live_pipeline + self.sample.by_worker + self.sample.in_outage
        self.worker.wait_until(lambda: self.database.count() >= len(reads), 30, "the reads of the outage to be committed")
        self.screen.say("Postgres is back, and the worker goes on by itself:")
        self.check_rows(reads)

    def outage_noticed(self):
        new = {read.key for read in self.sample.in_outage}
        return self.worker.metric("breaker_open") == 1 and new <= set(self.worker.queue())

    def compare_attempts(self, before, after):
        at_first, at_end = ({key: entry["attempts"] for key, entry in queue.items()} for queue in (before, after))
        first, end = Counter(at_first.values()), Counter(at_end.values())
        rows = [(n, first[n], end[n]) for n in sorted(first | end)]
        self.screen.table(("attempts", "entries at first", f"after {OUTAGE_S} s"), rows)
        self.screen.check("all are due by now, and no attempt is used up", at_end, at_first)

    def park(self):
        self.screen.step(
            "What cannot be committed is parked",
            f"The reads of unknown meters fail until they have {CAP} attempts. Parked reads (`meter-dlq list --parked`) are "
            "kept for ever, with their bytes and the reason, until a human decides.",
        )
        self.worker.wait_until(lambda: not self.worker.queue(), 60, "the last poison to be parked")
        parked = self.worker.parked()
        causes = Counter(p["cause"] for p in parked.values())
        rows = [(cause, causes[cause], self.example(parked, cause)) for cause in sorted(causes)]
        self.screen.table(("cause", "reads", "for example"), rows)
        self.screen.check("each read is parked for its own cause", causes, self.sample.parked())
        at_cap = [p["entry"]["attempts"] for p in parked.values() if p["cause"] == "poison_cap"]
        self.screen.check(f"poison was parked at exactly {CAP} attempts", at_cap, [CAP] * len(self.sample.unknown))
        self.show_malformed(parked)

    @staticmethod
    def example(parked, cause):
        """What the first one of a cause says."""
        one = next(p for p in parked.values() if p["cause"] == cause)
        entry = one["entry"]
        if cause == "conflict":
            return f"{entry['payload']} against {json.loads(one['committed'])['kwh']} in the row"
        if cause == "permanent":
            return entry["idempotency_key"]
        return entry["error"]["message"]

    def show_malformed(self, parked):
        by_payload = {p["entry"]["payload"]: p["entry"] for p in parked.values() if p["cause"] == "malformed"}
        sent = {what: line.split("\t")[1] for what, line in self.sample.malformed.items()}
        self.screen.check("malformed ones are parked byte for byte", sorted(by_payload), sorted(sent.values()))
        rows = [(what, by_payload[payload]["error"]["message"]) for what, payload in sent.items()]
        self.screen.table(("malformed", "the reason that is kept with it"), rows)

    def rewind(self):
        self.screen.step(
            "The dead-letter topic is rewound to its beginning",
            "Rewinding is always safe. What is settled stays as it is. What failed for want of something gets another "
            "chance, so the master data of one meter is loaded first.",
        )
        self.screen.check("the worker ends within 10 s of SIGTERM, with exit 0", self.worker.terminate(), 0)
        helped, *others = self.sample.unknown
        self.database.know(helped.meter)
        rows, parked = self.database.rows(), self.worker.parked()
        self.reset_offsets()
        stats = json.loads(self.worker.call("run", "--until-idle", expect=1).splitlines()[-1])
        self.screen.table(("outcome", "number", "meaning"), [(name, stats[name], text) for name, text in MEANINGS.items()])
        _, dead_letters = self.sample.totals()
        found = stats["intake"], sum(stats[name] for name in MEANINGS)
        self.screen.check(f"all {dead_letters} dead letters came again, each to one end", found, (dead_letters,) * 2)
        self.check_after_rewind(helped, others, rows, parked)

    def reset_offsets(self):
        """By the stock tool, which refuses while the group still counts the worker as a member."""
        words = ("--group", GROUP, "--topic", SOURCE, "--reset-offsets", "--to-earliest", "--execute")
        self.screen.lines(
            "",
            f"     $ kafka-consumer-groups --bootstrap-server {self.kafka.bootstrap} \\",
            f"         {' '.join(words[:4])} \\",
            f"         {' '.join(words[4:])}",
        )

        def done():
            out = self.kafka.kafka_tool("consumer-groups", *words, check=False)
            return "NEW-OFFSET" in out and "Error" not in out

        wait_until(done, 30, "the offsets to be reset")

    def check_after_rewind(self, helped, others, rows, parked):
        screen, after = self.screen, self.database.rows()
        screen.check(f"all {len(rows)} rows are as they were, to the transaction that wrote them", rows - after, set())
        added = [helped.key in row for row in after - rows]
        screen.check(f"one row is new: the read of {helped.meter}, which is known now", added, [True])
        stays = {key: p for key, p in parked.items() if p["cause"] != "poison_cap"}
        screen.check("what is parked for its content or as permanent stays parked", self.worker.parked(), stays)
        queue = self.worker.queue()
        found = {key: (entry["attempts"], entry["first_seen_utc"]) for key, entry in queue.items()}
        expected = {read.key: (2, parked[read.key]["entry"]["first_seen_utc"]) for read in others}
        screen.check("the other unknown meters have another round, first seen when they were", found, expected)
        screen.say("The queue, now with the default backoff:")
        self.show_queue(queue)

    def audit(self):
        self.screen.step(
            "The audit",
            "`meter-dlq audit` goes through the topics and the table, dead letter by dead letter, and finds what became of "
            "each. It changes nothing and may run at any time; its exit is 4 if anything is missing, doubled or different.",
        )
        *partitions, total = self.worker.json_lines("audit")
        names = ("dead_letters", "reads", "settled", "queued", "parked", "missing", "different")
        rows = [(f"{p['partition']}: {p['from']}..{p['to']}", *(p[name] for name in names)) for p in partitions]
        self.screen.table(("offsets", "dead letters", *names[1:]), [*rows, ("total", *(total[name] for name in names))])
        unknown, (reads, dead_letters) = len(self.sample.unknown), self.sample.totals()
        queued, parked = unknown - 1, sum(self.sample.parked().values()) - unknown
        expected = (dead_letters, reads, reads - queued - parked, queued, parked, 0, 0)
        self.screen.check("the ledger is the one that the sample calls for", tuple(total[name] for name in names), expected)
        self.verdict = f"{dead_letters} dead letters, {reads} reads. None is lost, none committed twice."


def tell_how_to_reach(demo):
    config = demo.worker.config
    print(
        f"\nThe servers stay up, in {demo.folder}:\n"
        f"  Kafka     {demo.kafka.bootstrap}\n"
        f"  Postgres  psql '{demo.postgres.conninfo(dbname=DATABASE)}'\n"
        f"  worker    {BINARY} run -F {config}\n"
        f"  queue     {BINARY} list -F {config}\n"
        f"  stop      {ROOT}/tests/support/servers down {demo.folder} && rm -r {demo.folder}"
    )


def clean_up(demo, keep_servers, keep_folder):
    demo.worker.kill()
    if not keep_servers:
        demo.kafka.kill()
        demo.postgres.stop()
    if not keep_servers and not keep_folder:
        shutil.rmtree(demo.folder)


def main(arguments):
    keep = "--keep" in arguments
    begin = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="meter-dlq-demo-"))
    folder.chmod(0o755)  # the user that Postgres runs as must enter it
    demo = Demo(folder, keep)
    status = 1
    try:
        demo.run()
        print(f"\nVerdict: {demo.verdict}\n{demo.screen.checks} checks passed in {time.monotonic() - begin:.0f} s.")
        status = 0
    except (Failed, TimeoutError, servers.ServerError, subprocess.SubprocessError) as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        status = 130
    finally:
        clean_up(demo, keep_servers=keep and status != 130, keep_folder=status == 1)
    if status == 1:
        print(f"The logs are in {folder}.", file=sys.stderr)
    if keep and status != 130:
        tell_how_to_reach(demo)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

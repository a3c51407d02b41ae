"""The dead letters of the demo: always the same ones."""

import random
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

CAP = 5  # attempts, then a read is parked


@dataclass(frozen=True)
class Read:
    meter: str
    instant: str
    kwh: str

    @property
    def key(self):
        return f"{self.meter}|{self.instant}|1"

    @property
    def line(self):
        """As `meter-dlq put` takes it. The rest of the read is in its key."""
        return f'{self.key}\t{{"kwh":"{self.kwh}"}}'

    def with_other_amount(self):
        return Read(self.meter, self.instant, "9" + self.kwh)


def endless_reads():
    """Different ones, by quarter hours of ten meters, always the same. Amounts have trailing zeros now and then."""
    chance = random.Random(1)
    midnight = datetime(2026, 7, 17, tzinfo=timezone.utc)
    for n in range(sys.maxsize):
        instant = midnight + timedelta(minutes=15 * (n // 10))
        cents = chance.randrange(10, 3000) * chance.choice((1, 10))
        yield Read(f"MTR-{n % 10 + 1:08}", instant.isoformat(), f"{cents // 100}.{cents % 100:02}")


def malformed_lines(reads):
    """What is wrong with it -> the dead letter."""
    keys = [next(reads).key for _ in range(6)]
    return {
        "empty": f"{keys[0]}\t",
        "not JSON": f"{keys[1]}\tkwh: 12.50",
        "no amount": f'{keys[2]}\t{{"quality":"MEASURED"}}',
        "amount is no decimal": f'{keys[3]}\t{{"kwh":"12,50"}}',
        "several reads": f'{keys[4]}\t[{{"kwh":"12.50"}},{{"kwh":"13.50"}}]',
        "disagrees with its key": f'{keys[5]}\t{{"sequence":2,"kwh":"12.50"}}',
        "no key": '\t{"kwh":"12.50"}',
        "instant without offset": '\t{"meter_id":"MTR-1","read_at":"2026-07-17T00:00:00","sequence":1,"kwh":"12.50"}',
    }


class Sample:
    """Reads by what has happened to them before they come to the worker."""

    def __init__(self):
        reads = endless_reads()

        def take(n):
            return [next(reads) for _ in range(n)]

        self.good, self.twice, self.committed = take(240), take(30), take(40)
        self.in_conflict, self.permanent, self.in_outage = take(4), take(6), take(30)
        self.unknown = [Read(f"MTR-9999{n:04}", "2026-07-17T00:00:00+00:00", "12.50") for n in range(1, 6)]
        self.malformed = malformed_lines(reads)

    @property
    def by_live_pipeline(self):
        """What it commits before it dead-letters anything."""
        return self.committed + self.in_conflict

    @property
    def by_worker(self):
        """What the worker commits, before the outage."""
        return self.good + self.twice

    def mixed_lines(self):
        """The dead letters but for the permanent ones and those of the outage. Unknown meters come late."""
        chance = random.Random(2)
        lines = [read.line for read in self.good + self.twice * 2 + self.committed]
        lines += [read.with_other_amount().line for read in self.in_conflict] + list(self.malformed.values())
        chance.shuffle(lines)
        for read in self.unknown:
            lines.insert(chance.randrange(len(lines) * 3 // 4, len(lines)), read.line)
        return lines

    def kinds(self):
        """(kind, reads, dead letters, what should become of them), before the outage."""
        kinds = (
            ("good", self.good, "committed"),
            ("sent twice", self.twice, "committed once"),
            ("already committed", self.committed, "nothing, they are there"),
            ("of an unknown meter", self.unknown, f"parked at {CAP} attempts"),
            ("with another amount", self.in_conflict, "parked; the row stays"),
            ("permanent (HTTP 4xx)", self.permanent, "parked without a replay"),
            ("malformed", self.malformed, "parked, byte for byte"),
        )
        return [(kind, len(reads), len(reads) * (1 + (reads is self.twice)), end) for kind, reads, end in kinds]

    def parked(self):
        """How many are parked in the end, by cause."""
        return {
            "poison_cap": len(self.unknown),
            "permanent": len(self.permanent),
            "conflict": len(self.in_conflict),
            "malformed": len(self.malformed),
        }

    def totals(self):
        """Reads and dead letters, those of the outage too."""
        kinds = self.kinds()
        return tuple(sum(kind[i] for kind in kinds) + len(self.in_outage) for i in (1, 2))

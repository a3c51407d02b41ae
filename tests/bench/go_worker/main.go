// A plain worker to measure ours against: what one would write by hand in an afternoon.
//
// Several of them side by side in one process, each a member of the group with a transactional producer and a
// connection of its own: poll; one Kafka transaction that puts each dead letter into the DLQ topic and moves the
// offsets; one Postgres transaction that inserts them from unnest; one Kafka transaction of tombstones. The same
// transactions as meter-dlq's, but no validation, no outcomes, no attempts, no recovery.
//
// usage: go_worker -brokers B -group G -source T -dlq T -conninfo C -reads N
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	batchRecords     = 5000
	statementRecords = 1000
	workers          = 4
	giveUp           = 10 * time.Minute
)

const insert = `INSERT INTO meter_read (idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality)
	SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[], $5::text[]::numeric[], $6::text[], $7::text[])
	ON CONFLICT (idempotency_key) DO NOTHING`

type options struct {
	brokers, group, source, dlq, conninfo string
	reads                                 int64
}

type read struct {
	key         string
	MeterID     string    `json:"meter_id"`
	ReadAt      time.Time `json:"read_at"`
	Sequence    int64     `json:"sequence"`
	Kwh         string    `json:"kwh"`
	ReadingType string    `json:"reading_type"`
	Quality     string    `json:"quality"`
}

// columns are the arrays of one statement.
type columns struct {
	keys, meters, kwh, types, qualities []string
	instants                            []time.Time
	sequences                           []int64
}

type worker struct {
	options  *options
	session  *kgo.GroupTransactSession
	postgres *pgx.Conn
	drained  *atomic.Int64
	inserted *atomic.Int64
	first    *first
}

// first is when the first dead letter came: what is before is the group's.
type first struct {
	once sync.Once
	at   time.Time
}

func newWorker(ctx context.Context, o *options, number int, drained, inserted *atomic.Int64, f *first) (*worker, error) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(o.brokers),
		kgo.ConsumerGroup(o.group),
		kgo.ConsumeTopics(o.source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(), // KIP-447; without it each End sleeps 200 ms
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.TransactionalID(fmt.Sprintf("%s.%d", o.group, number)),
		kgo.DefaultProduceTopic(o.dlq),
	)
	if err != nil {
		return nil, err
	}
	postgres, err := pgx.Connect(ctx, o.conninfo)
	if err != nil {
		session.Close()
		return nil, err
	}
	return &worker{o, session, postgres, drained, inserted, f}, nil
}

func (w *worker) close() {
	w.session.Close()
	w.postgres.Close(context.Background())
}

// run goes on until all reads are drained, whoever drained them.
func (w *worker) run(ctx context.Context) error {
	for w.drained.Load() < w.options.reads {
		records, err := w.poll(ctx)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		w.first.once.Do(func() { w.first.at = time.Now() })
		landed, err := w.drain(ctx, records)
		if err != nil {
			return err
		}
		if landed {
			w.drained.Add(int64(len(records)))
		}
	}
	return nil
}

func (w *worker) poll(ctx context.Context) ([]*kgo.Record, error) {
	// Not for long: others may drain the last reads meanwhile.
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	fetches := w.session.PollRecords(ctx, batchRecords)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, failed.Err
		}
	}
	return fetches.Records(), nil
}

// drain brings one batch from the dead letters to its rows. False: a rebalance came in between.
func (w *worker) drain(ctx context.Context, records []*kgo.Record) (bool, error) {
	landed, err := w.transact(ctx, records, false)
	if err != nil || !landed {
		return false, err
	}
	reads, err := decode(records)
	if err != nil {
		return false, err
	}
	if err := w.commit(ctx, reads); err != nil {
		return false, err
	}
	_, err = w.transact(ctx, records, true)
	return true, err
}

// transact puts the records into the DLQ topic, or their tombstones, and moves the offsets.
func (w *worker) transact(ctx context.Context, records []*kgo.Record, tombstones bool) (bool, error) {
	var promise kgo.FirstErrPromise

	if err := w.session.Begin(); err != nil {
		return false, err
	}
	for _, r := range records {
		put := &kgo.Record{Key: r.Key}
		if !tombstones {
			put.Value, put.Headers = r.Value, r.Headers
		}
		w.session.Produce(ctx, put, promise.Promise())
	}
	failed := promise.Err()
	landed, err := w.session.End(ctx, kgo.TransactionEndTry(failed == nil))
	return landed, errors.Join(failed, err)
}

// decode parses the payloads, in the order of their keys: so that writers lock rows in the same order.
func decode(records []*kgo.Record) ([]read, error) {
	reads := make([]read, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Value, &reads[i]); err != nil {
			return nil, fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		reads[i].key = string(r.Key)
	}
	sort.Slice(reads, func(i, j int) bool { return reads[i].key < reads[j].key })
	return reads, nil
}

func columnsOf(reads []read) (c columns) {
	for i := range reads {
		r := &reads[i]
		c.keys = append(c.keys, r.key)
		c.meters = append(c.meters, r.MeterID)
		c.instants = append(c.instants, r.ReadAt)
		c.sequences = append(c.sequences, r.Sequence)
		c.kwh = append(c.kwh, r.Kwh)
		c.types = append(c.types, r.ReadingType)
		c.qualities = append(c.qualities, r.Quality)
	}
	return c
}

// commit inserts all reads in one transaction and one round trip, some to a statement.
func (w *worker) commit(ctx context.Context, reads []read) error {
	var batch pgx.Batch

	for from := 0; from < len(reads); from += statementRecords {
		c := columnsOf(reads[from:min(from+statementRecords, len(reads))])
		batch.Queue(insert, c.keys, c.meters, c.instants, c.sequences, c.kwh, c.types, c.qualities)
	}
	return pgx.BeginFunc(ctx, w.postgres, func(tx pgx.Tx) error {
		results := tx.SendBatch(ctx, &batch)
		for range batch.Len() {
			tag, err := results.Exec()
			if err != nil {
				return errors.Join(err, results.Close())
			}
			w.inserted.Add(tag.RowsAffected())
		}
		return results.Close()
	})
}

func runAll(ctx context.Context, o *options) (inserted int64, took time.Duration, err error) {
	var drained, rows atomic.Int64
	var f first
	var group sync.WaitGroup
	failures := make([]error, workers)

	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	for i := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			w, err := newWorker(ctx, o, i, &drained, &rows, &f)
			if err == nil {
				err = w.run(ctx)
				w.close()
			}
			if failures[i] = err; err != nil {
				cancel()
			}
		}()
	}
	group.Wait()
	return rows.Load(), time.Since(f.at), errors.Join(failures...)
}

func main() {
	var o options

	flag.StringVar(&o.brokers, "brokers", "localhost:9092", "host:port of a broker")
	flag.StringVar(&o.group, "group", "go-worker", "consumer group, and prefix of the transactional ids")
	flag.StringVar(&o.source, "source", "", "dead-letter topic")
	flag.StringVar(&o.dlq, "dlq", "", "topic of entries and tombstones")
	flag.StringVar(&o.conninfo, "conninfo", "", "of Postgres")
	flag.Int64Var(&o.reads, "reads", 0, "ends when so many are drained")
	flag.Parse()
	inserted, took, err := runAll(context.Background(), &o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "go_worker:", err)
		os.Exit(1)
	}
	fmt.Printf("{\"drained\": %d, \"inserted\": %d, \"drain_seconds\": %.3f}\n", o.reads, inserted, took.Seconds())
}

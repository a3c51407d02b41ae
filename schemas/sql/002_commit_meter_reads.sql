-- The one write path into meter_read: the live pipeline's and the replay's. See schemas/README.md,
-- "The SQL contract". Idempotent: run it again at any time, beside running writers too.

-- The functions below keep this search_path. Without pg_temp at its end a caller's temporary table
-- would come before ours.
DO $$
BEGIN
	PERFORM set_config('search_path', format('%I, pg_temp', current_schema()), false);
END
$$;

-- All or nothing. Returns a row only for reads that it did not insert.
CREATE OR REPLACE FUNCTION commit_meter_reads(
	idempotency_key text[],
	meter_id        text[],
	read_at         timestamptz[],
	sequence        bigint[],
	kwh             numeric[],
	reading_type    text[],
	quality         text[],
	attributes      jsonb[]
)
RETURNS TABLE (ordinal int, outcome text, committed jsonb)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
	reads    CONSTANT int := coalesce(cardinality(commit_meter_reads.idempotency_key), 0);
	seqscan  CONSTANT text := current_setting('enable_seqscan');
	inserted text[];
	skipped  int;
	rest     bigint[]; -- ordinals of those not inserted; NULL: all
	found    int;
BEGIN
	IF (cardinality(commit_meter_reads.meter_id), cardinality(commit_meter_reads.read_at),
		cardinality(commit_meter_reads.sequence), cardinality(commit_meter_reads.kwh),
		cardinality(commit_meter_reads.reading_type), cardinality(commit_meter_reads.quality),
		cardinality(commit_meter_reads.attributes))
		IS DISTINCT FROM (reads, reads, reads, reads, reads, reads, reads) THEN
		-- unnest() would fill up the shorter ones with NULL.
		RAISE 'the arrays must have the same number of elements'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;

	-- In the order of the keys, so that no two writers wait for each other's.
	WITH new AS (
		INSERT INTO meter_read
			(idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality, attributes)
		SELECT r.key, r.meter_id, r.read_at, r.sequence, r.kwh, r.reading_type, r.quality, r.attributes
		FROM unnest(commit_meter_reads.idempotency_key, commit_meter_reads.meter_id,
			commit_meter_reads.read_at, commit_meter_reads.sequence, commit_meter_reads.kwh,
			commit_meter_reads.reading_type, commit_meter_reads.quality, commit_meter_reads.attributes)
			WITH ORDINALITY AS r (key, meter_id, read_at, sequence, kwh, reading_type, quality,
				attributes, ordinal)
		ORDER BY r.key COLLATE "C", r.ordinal
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING idempotency_key
	)
	SELECT coalesce(array_agg(new.idempotency_key), '{}') FROM new INTO inserted;

	skipped := reads - cardinality(inserted);
	IF skipped = 0 AND reads > 0 THEN -- an empty call, the probe of the contract, goes on
		RETURN;
	END IF;

	-- Which ones? Of a key that is given twice the first is the one inserted.
	IF cardinality(inserted) > 0 THEN
		SELECT array_agg(k.ordinal)
		FROM (
			SELECT u.key, u.ordinal, row_number() OVER (PARTITION BY u.key ORDER BY u.ordinal) AS nth
			FROM unnest(commit_meter_reads.idempotency_key) WITH ORDINALITY AS u (key, ordinal)
		) k
		WHERE k.nth > 1 OR k.key NOT IN (SELECT unnest(inserted))
		INTO rest;
	END IF;

	-- A statement of its own, so that it sees rows that were committed during the INSERT. One look-up
	-- by key per read (OFFSET 0 keeps the planner to that), and by the index even where the plan was
	-- made when the table was small.
	PERFORM set_config('enable_seqscan', 'off', true);
	RETURN QUERY
	SELECT r.ordinal::int,
		CASE WHEN t.same THEN 'duplicate' ELSE 'conflict' END,
		CASE WHEN NOT t.same THEN jsonb_build_object(
			'idempotency_key', r.key,
			'meter_id', t.meter_id,
			'read_at', to_jsonb(t.read_at AT TIME ZONE 'UTC') #>> '{}' || 'Z',
			'sequence', t.sequence,
			'kwh', t.kwh::text, -- no reader shall take it for a double
			'reading_type', t.reading_type,
			'quality', t.quality,
			'attributes', t.attributes) END
	FROM unnest(commit_meter_reads.idempotency_key, commit_meter_reads.meter_id,
		commit_meter_reads.read_at, commit_meter_reads.sequence, commit_meter_reads.kwh,
		commit_meter_reads.reading_type, commit_meter_reads.quality)
		WITH ORDINALITY AS r (key, meter_id, read_at, sequence, kwh, reading_type, quality, ordinal)
	CROSS JOIN LATERAL (
		SELECT m.*, m.meter_id = r.meter_id AND m.read_at = r.read_at
			AND m.sequence = r.sequence AND m.kwh = r.kwh
			AND m.reading_type IS NOT DISTINCT FROM r.reading_type
			AND m.quality IS NOT DISTINCT FROM r.quality AS same
		FROM meter_read m
		WHERE m.idempotency_key = r.key
		OFFSET 0
	) t
	WHERE rest IS NULL OR r.ordinal IN (SELECT unnest(rest));
	GET DIAGNOSTICS found = ROW_COUNT;
	PERFORM set_config('enable_seqscan', seqscan, true);

	IF found <> skipped THEN
		RAISE '% of % reads were neither inserted nor found: their rows went meanwhile', skipped - found, reads
			USING ERRCODE = 'serialization_failure';
	END IF;

	-- The rows may be another session's that committed with synchronous_commit = off. This writes
	-- WAL behind them, so that our COMMIT waits until they are durable too.
	IF found > 0 THEN
		PERFORM pg_logical_emit_message(true, 'meter-dlq', '');
	END IF;
END
$function$;

-- Commits what it can. Also returns a row with outcome 'failed', SQLSTATE and message for each read that
-- fails, and one with 'untried' for the first that it leaves to another call, with all after it. What no
-- handler catches (a cancelled statement, a lost connection) ends the call.
CREATE OR REPLACE FUNCTION commit_meter_reads_isolated(
	idempotency_key text[],
	meter_id        text[],
	read_at         timestamptz[],
	sequence        bigint[],
	kwh             numeric[],
	reading_type    text[],
	quality         text[],
	attributes      jsonb[]
)
RETURNS TABLE (ordinal int, outcome text, committed jsonb, sqlstate text, message text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
	-- Others see 64 subtransactions of a transaction at a glance (PGPROC_MAX_CACHED_SUBXIDS in proc.h);
	-- with one more, every snapshot of every session has to look them up.
	most     CONSTANT int := 60;
	counter  CONSTANT text := 'meter_dlq.subtransactions'; -- kept by this transaction
	patience CONSTANT text := current_setting('lock_timeout');
	reads    CONSTANT int := coalesce(cardinality(commit_meter_reads_isolated.idempotency_key), 0);
	small    CONSTANT int := greatest(reads / 45, 20);
	few      CONSTANT int := 2; -- good reads between two that fail
	step     int := (reads + 1) / 2;
	kept     int := coalesce(nullif(current_setting(counter, true), ''), '0');
	waits    int := 0; -- for a lock, in vain
	low      int := 1; -- reads low to high are next
	high     int;
	search   int := 0; -- up to here some fail
	bad      int := 0; -- one that does, with code and reason
	at       int;
	code     text;
	reason   text;
BEGIN
	IF (reads = ALL (ARRAY[
		cardinality(commit_meter_reads_isolated.meter_id), cardinality(commit_meter_reads_isolated.read_at),
		cardinality(commit_meter_reads_isolated.sequence), cardinality(commit_meter_reads_isolated.kwh),
		cardinality(commit_meter_reads_isolated.reading_type),
		cardinality(commit_meter_reads_isolated.quality),
		cardinality(commit_meter_reads_isolated.attributes)])) IS NOT TRUE THEN
		RAISE 'the arrays must have the same number of elements'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;

	-- So that a deferred constraint fails here, where its read is known, and not at COMMIT.
	SET CONSTRAINTS ALL IMMEDIATE;

	LOOP
		EXIT WHEN kept >= most;
		high := least(low + step - 1, reads);

		-- Which is the next to fail? Each is tried by itself, and then all are undone: what is committed is
		-- committed by commit_meter_reads. `at` keeps its value when its subtransaction is rolled back.
		IF low <= search AND low > bad THEN
			at := low;
			BEGIN
				WHILE at <= search LOOP
					INSERT INTO meter_read
						(idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality, attributes)
					VALUES (commit_meter_reads_isolated.idempotency_key[at],
						commit_meter_reads_isolated.meter_id[at], commit_meter_reads_isolated.read_at[at],
						commit_meter_reads_isolated.sequence[at], commit_meter_reads_isolated.kwh[at],
						commit_meter_reads_isolated.reading_type[at],
						commit_meter_reads_isolated.quality[at], commit_meter_reads_isolated.attributes[at])
					ON CONFLICT (idempotency_key) DO NOTHING;
					at := at + 1;
				END LOOP;
				RAISE 'none of them';
			EXCEPTION WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, reason = MESSAGE_TEXT;
			END;
			high := at - 1;
			IF high < search THEN
				bad := at;
				search := CASE WHEN bad - low <= few THEN search ELSE 0 END;
			END IF;
		END IF;

		IF low <> bad THEN
			BEGIN
				RETURN QUERY
				SELECT r.ordinal + low - 1, r.outcome, r.committed, NULL, NULL
				FROM commit_meter_reads(
					commit_meter_reads_isolated.idempotency_key[low:high],
					commit_meter_reads_isolated.meter_id[low:high],
					commit_meter_reads_isolated.read_at[low:high],
					commit_meter_reads_isolated.sequence[low:high],
					commit_meter_reads_isolated.kwh[low:high],
					commit_meter_reads_isolated.reading_type[low:high],
					commit_meter_reads_isolated.quality[low:high],
					commit_meter_reads_isolated.attributes[low:high]) r;
				kept := kept + 1;
				low := high + 1;
			EXCEPTION WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, reason = MESSAGE_TEXT;
				IF reads = 0 THEN
					RAISE;
				END IF;
				bad := CASE WHEN low = high THEN low ELSE 0 END;
				search := CASE
					WHEN low <= search THEN (low + high) / 2 -- the search has found nothing
					WHEN step > small THEN 0
					ELSE high END;
				step := small;
			END;
		END IF;

		IF low = bad THEN
			RETURN QUERY SELECT low, 'failed', NULL::jsonb, code, reason;
			low := low + 1;
			-- Many rows may be locked: the first one was waited for, the others hardly are.
			IF code IN ('55P03', '40P01') THEN
				waits := least(waits + 1, 3);
				PERFORM set_config('lock_timeout', (ARRAY['100ms', '10ms', '1ms'])[waits], true);
			END IF;
		END IF;
		EXIT WHEN low > reads;
	END LOOP;

	PERFORM set_config('lock_timeout', patience, true);
	PERFORM set_config(counter, kept::text, true);
	IF low <= reads THEN
		RETURN QUERY SELECT low, 'untried', NULL::jsonb, NULL, NULL;
	END IF;
END
$function$;

-- EXECUTE is PUBLIC's by default. Who may call them: 003_role.sql.
REVOKE ALL ON FUNCTION
	commit_meter_reads(text[], text[], timestamptz[], bigint[], numeric[], text[], text[], jsonb[]),
	commit_meter_reads_isolated(text[], text[], timestamptz[], bigint[], numeric[], text[], text[], jsonb[])
FROM PUBLIC;

-- A group role that may commit reads and nothing else: GRANT it to the login roles of the worker
-- and of the live pipeline. Idempotent: run it again at any time.

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'meter_read_writer') THEN
		CREATE ROLE meter_read_writer NOLOGIN;
	END IF;
EXCEPTION
	WHEN duplicate_object OR unique_violation THEN
		NULL; -- roles are the cluster's: another database was installed at the same moment
END
$$;

DO $$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO meter_read_writer', current_schema());
END
$$;

GRANT EXECUTE ON FUNCTION
	commit_meter_reads(text[], text[], timestamptz[], bigint[], numeric[], text[], text[], jsonb[]),
	commit_meter_reads_isolated(text[], text[], timestamptz[], bigint[], numeric[], text[], text[], jsonb[])
TO meter_read_writer;

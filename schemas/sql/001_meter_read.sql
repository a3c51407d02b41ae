-- The table of committed reads. Rows are never changed: a corrected read has a key of its own.
-- Idempotent: run it again at any time. Installs into the first schema of search_path.

CREATE TABLE IF NOT EXISTS meter_read (
	-- Opaque. COLLATE "C": byte order is the order in which writers lock keys, and the cheapest.
	idempotency_key text COLLATE "C" CONSTRAINT meter_read_pkey PRIMARY KEY,
	meter_id        text NOT NULL,
	read_at         timestamptz NOT NULL,
	sequence        bigint NOT NULL,
	kwh             numeric NOT NULL,
	reading_type    text,
	quality         text,
	attributes      jsonb,
	committed_at    timestamptz NOT NULL DEFAULT now()
);

-- The read that counts: the highest sequence per meter, instant and type.
CREATE OR REPLACE VIEW meter_read_current AS
SELECT DISTINCT ON (meter_id, read_at, reading_type)
	idempotency_key, meter_id, read_at, sequence, kwh, reading_type, quality, attributes, committed_at
FROM meter_read
ORDER BY meter_id, read_at, reading_type, sequence DESC, committed_at DESC, idempotency_key DESC;

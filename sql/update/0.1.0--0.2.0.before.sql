--
-- From 0.1.0 to 0.2.0: what exists and changes.  What is new needs no line here.
--

-- The next folding makes the running totals anew.
DELETE FROM yquota_internal.running_reference;
ALTER TABLE yquota_internal.running_reference
	ADD COLUMN priced_through timestamptz NOT NULL CHECK (priced_through >= reference_at);

-- Smaller ranges, and one more column
DROP INDEX yquota.charge_application_id_idx, yquota.container_application_id_idx, yquota.charge_time_idx;

-- Classes get their numbers all at once.
DROP FUNCTION yquota_internal.running_class_number(yquota.resource, text[]);

-- A factor can end.
ALTER TABLE yquota.price_factor ALTER COLUMN factor DROP NOT NULL;

-- Segments end where closed periods do.
DROP FUNCTION yquota_internal.verify_lives(timestamptz), yquota_internal.expected_charge(timestamptz),
	yquota_internal.expected_segment(timestamptz);

-- A window can be told as it was booked.
DROP FUNCTION yquota.cost_between(timestamptz, timestamptz, text[]);

-- A bill tells more.
DROP FUNCTION yquota.explain_charge(text);

-- What a grant is, and when it was given by the clock: in rows there are, always.
ALTER TABLE yquota.quota_grant
	ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'grant' CHECK (kind IN ('grant', 'refund', 'correction', 'budget')),
	ADD COLUMN booked_at timestamptz NOT NULL DEFAULT '-infinity';

-- Projects are parts of others.
ALTER TABLE yquota.project ADD COLUMN parent text COLLATE "C" REFERENCES yquota.project;

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

-- A bill tells more.
DROP FUNCTION yquota.explain_charge(text);

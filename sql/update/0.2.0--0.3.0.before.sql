--
-- From 0.2.0 to 0.3.0: what exists and changes.  What is new needs no line here.
--

-- What is archived from now on is kept as it was booked.
ALTER TABLE yquota.archived_history ADD COLUMN as_booked boolean NOT NULL DEFAULT false;
ALTER TABLE yquota.archived_history ALTER COLUMN as_booked SET DEFAULT true;

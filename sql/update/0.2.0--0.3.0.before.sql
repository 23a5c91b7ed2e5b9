--
-- From 0.2.0 to 0.3.0: what exists and changes.  What is new needs no line here.
--

-- What is archived from now on is kept as it was booked.
ALTER TABLE yquota.archived_history ADD COLUMN as_booked boolean NOT NULL DEFAULT false;
ALTER TABLE yquota.archived_history ALTER COLUMN as_booked SET DEFAULT true;

ALTER TABLE yquota_internal.counter_delta ADD COLUMN changed_from timestamptz;

-- Rows that are there count as rows of this transaction.
ALTER TABLE yquota_internal.counter_delta ADD COLUMN changed_by xid8 NOT NULL DEFAULT pg_current_xact_id();
ALTER TABLE yquota_internal.counter_delta ALTER COLUMN changed_by DROP DEFAULT;

-- Sessions read applications again that a pass of another session has changed.
ALTER TABLE yquota_internal.scheduler_change DROP COLUMN served;

-- Siblings have the order of the configuration, and applications in fair order the places
-- of what they hold.
ALTER TABLE yquota_internal.queue_status DROP COLUMN refreshed;
DROP TRIGGER keep_place ON yquota.application;
DROP FUNCTION yquota_internal.keep_place();
ALTER TABLE yquota_internal.application_attempt
	DROP COLUMN placed_memory, DROP COLUMN placed_pending, DROP COLUMN uncounted_memory;

-- Limits for application masters follow from what queues use now.
DROP TRIGGER forget_am_limits ON yquota.node;
DROP TRIGGER forget_am_limits_of_change ON yquota.node;
DROP FUNCTION yquota_internal.forget_am_limits();
ALTER EXTENSION yquota DROP TABLE yquota_internal.am_limit;
DROP TABLE yquota_internal.am_limit;

-- What had been spent by an instant was looked at again once a day only: the worker
-- finds it anew, as far as the books reach.
DELETE FROM yquota_internal.spending_mark WHERE at >= yquota_internal.archive_horizon();

-- They return more.
DROP FUNCTION yquota.import_rm_audit(text, text, integer, text, text, text, timestamptz);
DROP FUNCTION yquota.import_rm_audit_file(text, text, integer, text, text, text, timestamptz);
DROP FUNCTION yquota_internal.send_rm_audit_events(yquota_internal.rm_audit_event[], text);

-- A container that a node is kept for is no reservation of capacity ahead of time.
ALTER TABLE yquota.reservation RENAME TO reserved_container;
ALTER INDEX yquota.reservation_pkey RENAME TO reserved_container_pkey;
ALTER INDEX yquota.reservation_application_id_idx RENAME TO reserved_container_application_id_idx;

-- Operators and aggregates call these; people do not.
ALTER FUNCTION yquota.resource_in(cstring) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_out(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_recv(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_send(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_add(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_subtract(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_negate(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_multiply(yquota.resource, bigint) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_multiply(bigint, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_lt(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_le(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_eq(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_ne(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_ge(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_gt(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_cmp(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sortsupport(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_hash(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_hash_extended(yquota.resource, bigint) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_accum(internal, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_remove(internal, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_combine(internal, internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_serialize(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_deserialize(bytea, internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_final(internal) SET SCHEMA yquota_internal;

-- Functions have names with their objects.
ALTER FUNCTION yquota.release(bigint) RENAME TO release_hold;
ALTER FUNCTION yquota_internal.release_as_owner(bigint) RENAME TO release_hold_as_owner;

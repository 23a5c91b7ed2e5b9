\echo Use "CREATE EXTENSION yquota" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA yquota;
COMMENT ON SCHEMA yquota IS
	'Quota, pricing and scheduling of a shared compute cluster: the public interface';
GRANT USAGE ON SCHEMA yquota TO PUBLIC;

CREATE SCHEMA yquota_internal;
COMMENT ON SCHEMA yquota_internal IS
	'Counters, helper functions and state of yquota; not an interface';

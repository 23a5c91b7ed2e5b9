--
-- Names of 0.2.0 that have become others.  They stay for this release, so that
-- programs can follow one by one; docs/upgrading.md lists them.
--
CREATE VIEW yquota.reservation WITH (security_barrier) AS
	SELECT * FROM yquota.reserved_container;
COMMENT ON VIEW yquota.reservation IS 'Deprecated: read reserved_container';

CREATE FUNCTION yquota.release(hold_id bigint) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota.release_hold(hold_id);
	END;
COMMENT ON FUNCTION yquota.release(bigint) IS 'Deprecated: call release_hold()';
REVOKE ALL ON FUNCTION yquota.release(bigint) FROM PUBLIC;

CREATE FUNCTION yquota.acknowledge(container_ids text[]) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.acknowledge_containers(container_ids);
	END;
COMMENT ON FUNCTION yquota.acknowledge(text[]) IS 'Deprecated: call acknowledge_decisions(), which takes the numbers of decisions';
REVOKE ALL ON FUNCTION yquota.acknowledge(text[]) FROM PUBLIC;

-- Jobs that install_cron_jobs() of release 0.2.0 gave to pg_cron call this name.
CREATE FUNCTION yquota_internal.perform_duty(
	duty text, performed_by text, now_at timestamptz DEFAULT yquota.clock())
	RETURNS text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.run_job(duty, performed_by, now_at);
COMMENT ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) IS
	'Deprecated: call run_job()';
REVOKE ALL ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) FROM PUBLIC;

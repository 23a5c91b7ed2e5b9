--
-- Names of 0.2.0 that have become others.  They stay for this release, so that
-- programs can follow one by one; docs/upgrading.md lists them.
--
CREATE VIEW yquota.reservation WITH (security_barrier) AS
	SELECT * FROM yquota.reserved_container;
COMMENT ON VIEW yquota.reservation IS 'Deprecated: read reserved_container';

--
-- From 0.2.0 to 0.3.0: what goes when nothing uses it any more.
--

DROP FUNCTION yquota_internal.check_may_hold(text, text);

-- Nothing is offered or asked for in negative amounts.
UPDATE yquota.node SET total = (SELECT coalesce(jsonb_object_agg(e.name, greatest(e.amount, 0)), '{}') FROM yquota.resource_entries(total) AS e)::yquota.resource
WHERE NOT yquota.fits_in('[]', total);
UPDATE yquota.pending_demand SET demand = (SELECT coalesce(jsonb_object_agg(e.name, greatest(e.amount, 0)), '{}') FROM yquota.resource_entries(demand) AS e)::yquota.resource
WHERE NOT yquota.fits_in('[]', demand);
ALTER TABLE yquota.node ADD CHECK (yquota.fits_in('[]', total));
ALTER TABLE yquota.pending_demand ADD CHECK (yquota.fits_in('[]', demand));

DROP FUNCTION yquota_internal.quarter_hours_query(text);

DROP FUNCTION yquota_internal.verify_grants();
DROP FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz);
DROP FUNCTION yquota_internal.credit_state(text, timestamptz);
DROP FUNCTION yquota_internal.take_credit(numeric[], numeric);
DROP FUNCTION yquota_internal.unnoted_loss(text, timestamptz);

-- Refunds and corrections of sub-projects may be credit of their ancestors, and have
-- expired there: the worker notes that anew.
DELETE FROM yquota.expired_grant AS expired
USING yquota.quota_grant AS given, yquota_internal.project_family AS family
WHERE given.grant_id = expired.grant_id AND given.kind IN ('refund', 'correction') AND family.member = expired.project;

-- Ends of containers that yquota has sent itself, as far as history has not been sealed since.
INSERT INTO yquota_internal.reported_end (container_id, occurred_at, exit_status, is_own, is_assumed, recorded_at)
SELECT DISTINCT ON (log.container_id) log.container_id, log.occurred_at, log.exit_status, true, false, log.recorded_at
FROM ONLY yquota.container_event AS log
JOIN yquota_internal.charge_in_effect AS charge
	ON charge.container_id = log.container_id AND charge."to" = log.occurred_at
	AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL
WHERE log.event = 'CONTAINER_FINISH' AND log.source IN ('scheduler', 'reconcile', 'node_lost');

-- Transfers of credit between projects.  A transfer moves parts of grants in the order in which they are spent.
-- Each part has two rows in yquota.quota_grant.  The negative row takes credit from the grant.  The positive row
-- gives it to the other project, with the same expires_at.  Balances, bills and reports therefore treat transfers as
-- grants.
--
-- Holds and transfers decide about credit under the same locks.  The projects of a transfer are locked in the order
-- of their names, so that transfers cannot deadlock.

CREATE FUNCTION yquota_internal.require_transfer_right() RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT has_table_privilege(yquota_internal.acting_role(), 'yquota.quota_grant', 'INSERT') THEN
		RAISE EXCEPTION 'permission denied to transfer credit'
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Only roles that may insert into yquota.quota_grant may transfer credit.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.require_transfer_right() IS
	'Raise an error unless the caller may move credit between projects.  Every role that may grant credit has this right';

-- The spending of a sub-project also counts for its ancestors.  Moving credit up or down a family would therefore
-- count it twice or not at all.  The same would be true for moving a share of one family's credit to another family.
CREATE FUNCTION yquota_internal.lock_transfer(from_project text, to_project text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	unknown text;
BEGIN
	PERFORM yquota_internal.require_read_committed('transfer credit');
	-- keeps projects in their families, as in hold()
	LOCK TABLE yquota_internal.project_family IN ROW EXCLUSIVE MODE;
	SELECT min(p.name) INTO unknown FROM unnest(ARRAY[from_project, to_project]) AS p (name)
	WHERE NOT EXISTS (SELECT FROM yquota.project WHERE project.name = p.name);
	IF unknown IS NOT NULL THEN
		PERFORM yquota_internal.refuse_name('project', unknown);
	END IF;
	IF (SELECT count(DISTINCT coalesce(project.parent, '')) > 1 FROM yquota.project WHERE project.name IN (from_project, to_project)) THEN
		RAISE EXCEPTION 'cannot transfer credit between projects "%" and "%"', from_project, to_project
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Only projects without parents, or with the same one, can transfer credit to each other.',
				HINT = 'A grant to a sub-project is a share of the credit of its ancestors: change the shares by rows of yquota.quota_grant.';
	END IF;
	PERFORM yquota_internal.lock_credit(least(from_project COLLATE "C", to_project COLLATE "C"));
	PERFORM yquota_internal.lock_credit(greatest(from_project COLLATE "C", to_project COLLATE "C"));
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_transfer(text, text) IS
	'Lock the credit of two projects until the transaction ends.  Raises an error if no credit can move between the two';

CREATE TYPE yquota_internal.credit_part AS (
	grant_id bigint,
	rest numeric,
	expires_at timestamptz
);
COMMENT ON TYPE yquota_internal.credit_part IS 'Movable credit that remains in a grant';

CREATE FUNCTION yquota_internal.transferable_parts(project text, of_transfer bigint) RETURNS yquota_internal.credit_part[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT coalesce(array_agg(ROW(found.grant_id, found.rest, life.expires_at)::yquota_internal.credit_part), '{}')
		FROM yquota_internal.grant_outcome(transferable_parts.project, yquota.statement_clock()) AS found
		JOIN yquota_internal.grant_life AS life ON life.grant_id = found.grant_id AND life.project = transferable_parts.project
		JOIN yquota.quota_grant AS given ON given.grant_id = found.grant_id
		WHERE found.rest > 0
		  AND (transferable_parts.of_transfer IS NULL OR given.transfer_id = transferable_parts.of_transfer)
		  -- the federation counts the remaining credit of a lease as unspent
		  AND NOT EXISTS (SELECT FROM yquota_internal.taken_lease AS lease WHERE lease.grant_id = found.grant_id);
$$;
COMMENT ON FUNCTION yquota_internal.transferable_parts(text, bigint) IS
	'Return the remaining credit of the grants of a project, or of its parts of a transfer.  Leases of budgets are left out, because they cannot move';

CREATE FUNCTION yquota_internal.transferable_credit(remaining numeric, parts yquota_internal.credit_part[]) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT trim_scale(greatest(least(remaining, coalesce(sum(part.rest), 0)), 0)) FROM unnest(parts) AS part;
$$;
COMMENT ON FUNCTION yquota_internal.transferable_credit(numeric, yquota_internal.credit_part[]) IS
	'Return how many credits of the parts can move.  The result is at most the credit that remains after holds';

CREATE FUNCTION yquota_internal.move_parts(moved yquota.credit_transfer, parts yquota_internal.credit_part[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at, transfer_id, takes_from)
		SELECT side.project, side.amount, moved.reason, 'transfer', side.expires_at, moved.transfer_id, side.takes_from
		FROM (SELECT ordered.*, trim_scale(least(ordered.rest, moved.amount - ordered.before)) AS amount
			  FROM (SELECT p.*, sum(p.rest) OVER (ORDER BY p.expires_at, p.grant_id) - p.rest AS before
					FROM unnest(parts) AS p) AS ordered
			  WHERE ordered.before < moved.amount) AS part
		CROSS JOIN LATERAL (VALUES (1, moved.from_project, - part.amount, 'infinity'::timestamptz, part.grant_id),
								   (2, moved.to_project, part.amount, part.expires_at, NULL)) AS side (number, project, amount, expires_at, takes_from)
		ORDER BY part.expires_at, part.grant_id, side.number;
$$;
COMMENT ON FUNCTION yquota_internal.move_parts(yquota.credit_transfer, yquota_internal.credit_part[]) IS
	'Insert both rows of each part of a transfer, in the order in which grants are spent';

CREATE FUNCTION yquota_internal.check_transfer(from_project text, to_project text, amount numeric, reason text) RETURNS void
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF num_nulls(from_project, to_project, amount, reason) > 0 THEN
		RAISE EXCEPTION 'projects, amount and reason of a transfer must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF amount <= 0 OR amount > 1e30 OR scale(amount) > 66 THEN
		RAISE EXCEPTION 'cannot transfer % credits', amount
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The amount must be positive and at most 10^30, and have at most 66 decimals.';
	ELSIF from_project = to_project THEN
		RAISE EXCEPTION 'project "%" cannot transfer credit to itself', from_project
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_transfer(text, text, numeric, text) IS
	'Raise an error if the arguments do not describe a valid transfer';

CREATE FUNCTION yquota_internal.same_transfer(from_project text, to_project text, amount numeric, external_id text) RETURNS bigint
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known yquota.credit_transfer;
BEGIN
	SELECT * INTO known FROM yquota.credit_transfer AS t WHERE t.external_id = same_transfer.external_id;
	IF FOUND AND (known.from_project, known.to_project, known.amount) <> (from_project, to_project, amount) THEN
		RAISE EXCEPTION 'external_id "%" belongs to another transfer', external_id
			USING ERRCODE = 'unique_violation',
				DETAIL = format('It moved %s credits from project "%s" to project "%s".', known.amount, known.from_project, known.to_project);
	END IF;
	RETURN known.transfer_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.same_transfer(text, text, numeric, text) IS
	'Return the transfer with an external_id; NULL when there is none.  Raises an error if that transfer has other projects or another amount';

CREATE FUNCTION yquota_internal.transfer_credit_as_owner(
	from_project text, to_project text, amount numeric, reason text, external_id text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	known bigint;
	balance record;
	parts yquota_internal.credit_part[];
	fitting numeric;
	moved yquota.credit_transfer;
BEGIN
	PERFORM yquota_internal.require_transfer_right();
	PERFORM yquota_internal.check_transfer(from_project, to_project, amount, reason);
	PERFORM yquota_internal.lock_transfer(from_project, to_project);
	known := yquota_internal.same_transfer(from_project, to_project, amount, external_id);
	IF known IS NOT NULL THEN
		RETURN known;
	END IF;
	SELECT b.remaining, b.held INTO balance FROM yquota_internal.balance_of(from_project) AS b;
	-- read the parts only once, because charging does not wait for these locks
	parts := yquota_internal.transferable_parts(from_project, NULL);
	fitting := yquota_internal.transferable_credit(balance.remaining, parts);
	IF amount > fitting THEN
		RAISE EXCEPTION 'project "%" does not have enough credit to transfer %', from_project, amount
			USING ERRCODE = 'YQ001',
				DETAIL = format('%s credits are not spent, %s are held, and %s can be transferred.',
								trim_scale(balance.remaining + balance.held), balance.held, fitting),
				HINT = 'Transfer less, or release holds that are no longer needed. Leased budgets cannot be transferred.';
	END IF;
	INSERT INTO yquota.credit_transfer (from_project, to_project, amount, reason, external_id, transferred_by, transferred_at)
	VALUES (from_project, to_project, trim_scale(amount), reason, external_id, yquota_internal.acting_role(), yquota.statement_clock())
	ON CONFLICT ON CONSTRAINT credit_transfer_external_id_key DO NOTHING
	RETURNING * INTO moved;
	-- in the meantime, another transaction has moved credit between other projects with this external_id
	IF NOT FOUND THEN
		RETURN yquota_internal.same_transfer(from_project, to_project, amount, external_id);
	END IF;
	PERFORM yquota_internal.move_parts(moved, parts);
	RETURN moved.transfer_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.transfer_credit_as_owner(text, text, numeric, text, text) IS
	'Run transfer_credit() for the calling role';

CREATE FUNCTION yquota.transfer_credit(
	from_project text, to_project text, amount numeric, reason text, external_id text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.transfer_credit(text, text, numeric, text, text) IS
	'Move credit from a project to another one, in the order in which grants are spent.  Each part keeps its expires_at.  Returns the transfer_id; a repeated call with the same external_id returns the same transfer_id.  Raises YQ001 if the credit that is neither spent nor held does not suffice';

CREATE FUNCTION yquota_internal.reverse_transfer_as_owner(transfer_id bigint, reason text)
	RETURNS TABLE (returned numeric, returned_before numeric, not_returned numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	moved yquota.credit_transfer;
	parts yquota_internal.credit_part[];
	back yquota.credit_transfer;
BEGIN
	PERFORM yquota_internal.require_transfer_right();
	SELECT * INTO moved FROM yquota.credit_transfer AS t WHERE t.transfer_id = reverse_transfer_as_owner.transfer_id;
	IF moved.transfer_id IS NULL THEN
		RAISE EXCEPTION 'transfer % does not exist', transfer_id
			USING ERRCODE = 'no_data_found';
	ELSIF moved.reverses IS NOT NULL THEN
		RAISE EXCEPTION 'transfer % is a reversal', transfer_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Transfer the credit again with yquota.transfer_credit().';
	END IF;
	PERFORM yquota_internal.lock_transfer(moved.from_project, moved.to_project);
	returned_before := (SELECT coalesce(sum(t.amount), 0) FROM yquota.credit_transfer AS t WHERE t.reverses = moved.transfer_id);
	parts := yquota_internal.transferable_parts(moved.to_project, moved.transfer_id);
	returned := (SELECT yquota_internal.transferable_credit(b.remaining, parts) FROM yquota_internal.balance_of(moved.to_project) AS b);
	not_returned := trim_scale(moved.amount - returned_before - returned);
	IF returned > 0 THEN
		INSERT INTO yquota.credit_transfer (from_project, to_project, amount, reason, reverses, transferred_by, transferred_at)
		VALUES (moved.to_project, moved.from_project, returned, coalesce(reason, moved.reason), moved.transfer_id,
				yquota_internal.acting_role(), yquota.statement_clock())
		RETURNING * INTO back;
		PERFORM yquota_internal.move_parts(back, parts);
	END IF;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION yquota_internal.reverse_transfer_as_owner(bigint, text) IS
	'Run reverse_transfer() for the calling role';

CREATE FUNCTION yquota.reverse_transfer(transfer_id bigint, reason text DEFAULT NULL)
	RETURNS TABLE (returned numeric, returned_before numeric, not_returned numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.reverse_transfer(bigint, text) IS
	'Return the credit of a transfer to the project that gave it, unless the credit is spent, held, expired or moved to a third project.  Returns the amounts returned by this call and by earlier ones, and the amount that stays';

CREATE VIEW yquota.transfer_status WITH (security_barrier) AS
	SELECT moved.transfer_id, moved.from_project, moved.to_project, moved.amount, moved.reason, moved.external_id, moved.reverses,
		   CASE WHEN moved.reverses IS NULL THEN
			   (SELECT trim_scale(coalesce(sum(back.amount), 0)) FROM yquota.credit_transfer AS back WHERE back.reverses = moved.transfer_id) END AS returned,
		   moved.transferred_by, moved.transferred_at
	FROM yquota.credit_transfer AS moved
	WHERE (SELECT yquota_internal.reads_all())
	   OR moved.from_project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	   OR moved.to_project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.transfer_status IS
	'Transfers of credit from and to the projects that the reader may see, with the returned amounts. readable_grant has the parts of each transfer';
COMMENT ON COLUMN yquota.transfer_status.amount IS 'moved credits';
COMMENT ON COLUMN yquota.transfer_status.reverses IS 'transfer whose unspent credit this transfer returns; NULL for other transfers';
COMMENT ON COLUMN yquota.transfer_status.returned IS 'credits that reversals have returned; NULL for a reversal';

SELECT pg_extension_config_dump('yquota.credit_transfer', '');
SELECT pg_extension_config_dump('yquota.credit_transfer_transfer_id_seq', '');

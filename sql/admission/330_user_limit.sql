--
-- The share of a leaf queue that a user may use, and the part that is left to an application
-- (docs/design.md 5).  The functions return the CapacityScheduler's figures with all their
-- inputs.
--

CREATE FUNCTION yquota.user_limit(queue text, username text, label text DEFAULT '',
								  ignore_exclusivity boolean DEFAULT false,
								  OUT resource_limit yquota.resource, OUT used yquota.resource,
								  OUT may_be_assigned boolean, OUT weight real, OUT is_active boolean,
								  OUT usage_ratio real, OUT consumed yquota.resource,
								  OUT current_capacity yquota.resource, OUT minimum_share yquota.resource,
								  OUT maximum yquota.resource,
								  OUT active_users integer, OUT active_weights real,
								  OUT active_capacity yquota.resource, OUT active_share yquota.resource,
								  OUT active_limit yquota.resource,
								  OUT all_users_limit yquota.resource, OUT all_users integer,
								  OUT all_weights real, OUT all_capacity yquota.resource,
								  OUT all_share yquota.resource, OUT all_limit yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_user_limit';
COMMENT ON FUNCTION yquota.user_limit(text, text, text, boolean) IS
	'Return how much a user may use of a leaf queue on a label, with the figures from which this limit is computed.  The limit depends on the number of other users who want containers in this queue';

CREATE FUNCTION yquota.headroom(application_id text, label text DEFAULT NULL,
								OUT queue text, OUT username text, OUT partition text,
								OUT user_limit yquota.resource, OUT user_used yquota.resource,
								OUT queue_limit yquota.resource, OUT queue_used yquota.resource,
								OUT total yquota.resource, OUT free yquota.resource,
								OUT headroom yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_headroom';
COMMENT ON FUNCTION yquota.headroom(text, text) IS
	'Return the headroom of a live application on a label (NULL: that of its application master).  It is the smallest of what the limit of its user, the limit of its queue and the partition leave free';

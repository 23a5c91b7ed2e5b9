--
-- Help in psql: topics and, per topic, the tables, views and functions that the calling role
-- may use, with their COMMENTs.
--

CREATE FUNCTION yquota.help(about text DEFAULT NULL)
	RETURNS TABLE (topic text, kind text, call text, description text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	-- Patterns match an object's name after underscores are replaced by blanks and a blank is added at
	-- both ends.
	WITH topics (topic, description, pattern) AS (VALUES
		('alert', 'Alerts, spending thresholds, notifications and metrics', ' (alert|threshold|notifications|metrics|worker status) '),
		('application', 'Submit, move and end applications; why an application waits', ' (applications?|application access|outstanding|lifetime|priority) '),
		('balance', 'Projects, grants, transfers, budgets, holds and balances', ' (projects?|grants?|transfer|balance|budget|hold|exhausted|forecast) '),
		('bill', 'Bills, months and closed periods', ' (bill|billing|focus|period|month|opening) '),
		('cluster', 'For other databases: budgets and reports over several clusters, copies of the database', ' (cluster (name|lease|setting|status)|federated?|federation|federate|(planned|renew) leases|budget lease|commands) |^ (charge|bill) by (project|queue|user) '),
		('cost', 'What containers, applications, queues, users and projects cost, and why', ' (costs?|charge|quote|explain charge|amount|report html) |usage( between)? $'),
		('event', 'Insert container events; events that are late, wrong or set aside', ' (events?|rejects?|reject call|feed|reconcile|recover containers|report recovery|suspect|rm audit|node lost|deferred|through|container change) |^ (readable )?container $'),
		('history', 'Roll-ups, archives, the audit trail and proof of the books', ' (archived?|digest|history|seal|roll up|segment|verify|verification|audit|open books|retention|written) '),
		('opportunistic', 'Opportunistic containers, and queues of nodes', ' (opportunistic|distributed|over allocation|node (queue|work|action|report|room)|enqueue|advance|register|container (ended|paused|progress)|node lease|progress|shed) '),
		('outage', 'Time that is forgiven', ' (outage|forgive) '),
		('preemption', 'Preemption: what has to give resources back, and what that costs', ' (preempt|preempted|preemption|reclaim) '),
		('price', 'Prices, multipliers, factors and charging rules; what other prices would bring', ' (prices?|multiplier|factor|label history|charging rule|pricing|tariff|shadow|rerate|point|utilization|cluster metrics|quota compute) '),
		('queue', 'Queues, their configuration, and where applications go', ' (queues?|hadoop|label|mapping|template|property|configuration|user (limit|setting)|place) '),
		('reservation', 'Capacity reserved ahead of time', ' (reservations?|plans?|plan|planned) '),
		('resource', 'Vectors and types of resources', ' (resource|fits in|has room for|dominant|sum) '),
		('role', 'Roles and their privileges', ' (role|readable|access) '),
		('scheduling', 'Nodes, requests and the allocation of containers', ' (schedule|scheduler|decisions?|request|requests|requested|nodes?|heartbeat|headroom|release containers|blacklist|update containers?|container update|demand|reserved container|sorting policy|user limit) '),
		('worker', 'Work that is due by the clock: the background worker, jobs, the clock', ' (worker|cron|clock|compute|end expired|remove|quota compute|renew) ')
	),
	objects (name, kind, call, description) AS (
		SELECT relation.relname::text, CASE relation.relkind WHEN 'v' THEN 'view' ELSE 'table' END,
			   format('yquota.%s (%s)', relation.relname, (
				   SELECT string_agg(a.attname, ', ' ORDER BY a.attnum)
				   FROM pg_attribute AS a
				   WHERE a.attrelid = relation.oid AND a.attnum > 0 AND NOT a.attisdropped)),
			   obj_description(relation.oid, 'pg_class')
		FROM pg_class AS relation
		WHERE relation.relnamespace = 'yquota'::regnamespace
		  AND relation.relkind IN ('r', 'v', 'p')
		  AND has_table_privilege(relation.oid, 'SELECT, INSERT, UPDATE, DELETE')
		UNION ALL
		SELECT function.proname::text, 'function',
			   format('yquota.%s(%s)', function.proname, pg_get_function_arguments(function.oid)),
			   obj_description(function.oid, 'pg_proc')
		FROM pg_proc AS function
		WHERE function.pronamespace = 'yquota'::regnamespace
		  AND function.prorettype <> 'trigger'::regtype
		  AND has_function_privilege(function.oid, 'EXECUTE')
	)
	SELECT topics.topic, 'topic', format('SELECT * FROM yquota.help(%L)', topics.topic), topics.description
	FROM topics
	WHERE help.about IS NULL
	UNION ALL
	SELECT topics.topic, objects.kind, objects.call, objects.description
	FROM objects
	CROSS JOIN LATERAL (SELECT format(' %s ', replace(objects.name, '_', ' ')) AS words) AS named
	LEFT JOIN topics ON topics.topic = help.about
	-- assign objects for other databases to the topic "cluster" only
	LEFT JOIN topics AS elsewhere
	  ON elsewhere.topic = 'cluster' AND elsewhere.topic <> help.about AND named.words ~ elsewhere.pattern
	WHERE help.about IS NOT NULL
	  AND CASE WHEN topics.topic IS NOT NULL THEN named.words ~ topics.pattern AND elsewhere.topic IS NULL
			   ELSE strpos(lower(concat_ws(' ', objects.name, objects.description) COLLATE "C"), lower(help.about COLLATE "C")) > 0 END
	ORDER BY 1, 2, 3;
END;
COMMENT ON FUNCTION yquota.help(text) IS
	'List the topics, or the tables, views and functions of a topic that the calling role may use, with their calls and descriptions.  A word that is not a topic is searched for in names and descriptions';

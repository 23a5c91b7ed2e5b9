--
-- The objects that CREATE EXTENSION creates: their names (docs/design.md 4), and rules that hold
-- for every object. Rules are queries of the catalog, so they also cover objects that are added
-- later. The diagnostics name each object that breaks a rule.
--
\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
BEGIN;
SET LOCAL search_path = public, pg_catalog;
SELECT no_plan();

-- Objects that belong to the extension
CREATE TEMPORARY VIEW member AS
	SELECT d.classid, d.objid
	FROM pg_depend AS d
	JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'yquota'
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e';
CREATE TEMPORARY VIEW own_relation AS
	SELECT c.* FROM pg_class AS c JOIN member AS m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid;
CREATE TEMPORARY VIEW own_function AS
	SELECT p.*, p.oid::regprocedure AS signature, l.lanname
	FROM pg_proc AS p
	JOIN pg_language AS l ON l.oid = p.prolang
	JOIN member AS m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;

--
-- docs/design.md 4: names
--
SELECT is((SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace AS n
		   JOIN member AS m ON m.classid = 'pg_namespace'::regclass AND m.objid = n.oid),
		  '{yquota,yquota_internal}'::text[], 'schemas are members of the extension');
SELECT ok(NOT extrelocatable, 'the extension is not relocatable') FROM pg_extension WHERE extname = 'yquota';

SELECT has_type('yquota', name, format('type %s', name)) FROM unnest('{resource,container_event_type,execution_type,queue_state}'::text[]) AS name;
SELECT enum_has_labels('yquota', 'container_event_type', '{CONTAINER_START,CONTAINER_UPDATE,CONTAINER_FINISH,QUOTA_COMPUTE}'::text[], 'labels of container_event_type');
SELECT enum_has_labels('yquota', 'execution_type', '{GUARANTEED,OPPORTUNISTIC}'::text[], 'labels of execution_type');
SELECT enum_has_labels('yquota', 'quota_mode', '{PREPAID,NOLIMIT}'::text[], 'labels of quota_mode');
SELECT enum_has_labels('yquota', 'exhaustion_policy', '{allow,refuse_submission,drain,stop}'::text[], 'labels of exhaustion_policy');
SELECT enum_has_labels('yquota', 'charging_mode', '{dearest,sum,sum_of_groups}'::text[], 'labels of charging_mode');

SELECT has_table('yquota', name::name, format('table %s', name)) FROM unnest('{billing_currency,issued_bill,container_event,container,charge,reservation_charge,event_reject,feed_reject,scheduler_refusal,project,credit_transfer,quota_grant,price,price_group,resource_type,base_price,price_calendar,calendar_factor,price_factor,opportunistic_price,request_interceptor,charging_rule,outage,node,utilization,pricing_change,alert,history_segment,opening_balance,archived_history,written_history,cluster_setting,federated_cluster,federated_budget,budget_lease,application_tags,retention_setting,event_void,expired_grant,hold,budget,spending_threshold,billing_setting,closed_period,role_grant,audit,queue,queue_label,queue_user,wildcard_template,mapping_rule,workflow_priority_mapping,user_setting,multi_node_sorting_policy,node_label,node_label_history,over_allocation,unmapped_property,scheduler_setting,resource_request,blacklist,reservation_definition,reservation_allocation,reservation_queue,reserved_container,container_update,decision,expired_grant}'::text[]) AS name;
SELECT has_view('yquota', name::name, format('view %s', name)) FROM unnest('{focus_cost,focus_metadata,capacity_history,tariff,cluster_status,cluster_lease,lending_federation,budget_lease_status,federated_budget_status,charge_by_project_day,charge_by_queue_day,charge_by_user_day,bill_by_project,billing_period,current_price,project_balance,hold_status,transfer_status,container_cost,daily_cost,feed_status,my_rejects,suspect_container,worker_status,metrics,cron_jobs,charged_through,effective_queue,scheduler_application,scheduler_node,node_room,scheduler_queue,grant_status}'::text[]) AS name;
SELECT has_column('yquota', relation::name, name::name, format('column %s.%s', relation, name))
FROM (VALUES
	('node', '{name,rack,label,total,state,updated_at}'::text[]),
	('project', '{name,quota_mode,on_exhausted,credit_limit,exhaustion_grace}'),
	('quota_grant', '{project,amount,reason,granted_by,external_id,valid_from,expires_at}'),
	('resource_type', '{name,price_group,base_price,unit}'),
	('price_group', '{name,tipping_point,increment_factor,max_multiplier,count_pending}'),
	('project_balance', '{project,granted,charged,accrued,held,remaining,burn_rate,exhausted_at}'),
	('event_void', '{void_id,container_id,project,amount,reason,chosen,voided_by,voided_at}'),
	('feed_status', '{source,last_event_at,lag,waiting,rejected,differing_ends,rejected_calls,problem}'),
	('feed_reject', '{source,call,sqlstate,message,detail,at}'),
	('my_rejects', '{source,waiting,sqlstate,reason,event,container_id,sent_by,call}'))
	AS wanted (relation, names), unnest(names) AS name;
SELECT col_is_unique('yquota', 'quota_grant', 'external_id', 'external_id of quota_grant is unique');
SELECT has_function('yquota', name::name, format('function %s', name))
FROM unnest('{idle_cost,focus_query,cluster_name,federate_cluster,remove_federated_cluster,federation_status,federated_cost,federated_top_costs,federated_bill,renew_leases,planned_leases,check_queue_access,application_priority,place_application,transfer_credit,reverse_transfer,set_multiplier,clear_multiplier,set_base_price,compute_prices,quota_compute,charge_deferred,cost_between,usage_between,balance_at,bill,bill_by_calendar,bill_html,billing_journal,cost_by_calendar,cost_by_day,top_costs,roll_up_charges,preemption_cost,install_cron_jobs,remove_cron_jobs,report_html,explain_charge,explain_reservation,price_quote,reconcile,recover_containers,report_recovery,reject_call,report_feed_problem,node_lost,import_rm_audit,import_rm_audit_file,import_nodes,import_cluster_metrics,rerate,report_outage,forgive,close_period,close_month,open_books,hold,release_hold,acknowledge_decisions,remove_ended_reservations,new_reservation_id,submit_reservation,update_reservation,delete_reservation,list_reservations,plan_allocation,reservation_plan_html,reservation_plan_text,verify,start_worker,retry_rejects,void_events,seal_history,archive,archive_digest,amount,dominant_share,fits_in,sum,clock,set_clock,reset_clock,publication_commands,sequence_commands}'::text[]) AS name;
SELECT has_function('yquota', name::name, format('function %s', name))
FROM unnest('{import_rm_audit,import_rm_audit_file,import_nodes,import_cluster_metrics,rerate,shadow_costs,forecast,read_notifications}'::text[]) AS name;

--
-- The library reads and writes these tables by the numbers of their columns (src/charging/ledger.c,
-- counters.c, charge_events.c, event.h)
--
SELECT columns_are_in_order.* FROM (VALUES
	('yquota.container_event', '{event,container_id,occurred_at,project,application_id,username,queue,node,allocation,execution_type,exit_status,source,recorded_at,priority,allocation_request_id,asked_label,is_am,is_running,event_id}'::text[]),
	('yquota.container', '{container_id,project,application_id,username,queue,node,label,allocation,execution_type,started_at,settled_at,charges,factors,accrual_base,priority,allocation_request_id,asked_label,is_am,is_running,waiting_factor,is_given,settled_lately}'),
	('yquota.container_change', '{container_id,event,occurred_at,allocation,execution_type,queue,node,repeated_start,priority,allocation_request_id,asked_label,is_am,is_running,event_id}'),
	('yquota.charge', '{container_id,project,application_id,username,queue,node,execution_type,allocation,started_at,from,to,booked_at,number,corrects,settled_by,exit_status,padding,dominant,amount,given_back,waiting_factor}'),
	('yquota.event_reject', '{reject_id,event,container_id,occurred_at,project,application_id,username,queue,node,allocation,execution_type,exit_status,source,recorded_at,waiting,sqlstate,reason,detail,priority,allocation_request_id,asked_label,is_am,is_running,event_id,sent_by}'),
	('yquota_internal.counter_delta', '{scope,project,shape,factors,reference_at,weight,accrual_base,charged,queue,label,username,node,execution_type,allocation,containers,source,events,last_event_at,pricing_version,priced_through,recorded_at,changed_from,changed_by,packed}'),
	('yquota_internal.charged_through', '{at,recorded_at,source}'),
	('yquota_internal.deferred_event', '{event,container_id,occurred_at,project,application_id,username,queue,node,allocation,execution_type,exit_status,source,recorded_at,arrival,priority,allocation_request_id,asked_label,is_am,is_running,event_id,sent_by}'))
	AS wanted (relation, names),
	LATERAL (SELECT is((SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
						WHERE attrelid = relation::regclass AND attnum > 0),
					   names, format('columns of %s are in the library''s order', relation))) AS columns_are_in_order;

--
-- The trigger of container_event (docs/design.md 3, 4)
--
SELECT is_empty($$SELECT conname FROM pg_constraint WHERE conrelid = 'yquota.container_event'::regclass$$,
				'no constraint of container_event refuses before the trigger can set aside');
SELECT is_empty($$SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'yquota.container_event'::regclass AND indisunique$$,
				'container_event has no unique index');
SELECT is((SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'yquota.container_event'::regclass AND attnum > 0 AND attnotnull),
		  '{event,recorded_at,event_id}'::text[], 'only columns that the type, the default and the identity fill are NOT NULL in container_event');
SELECT is((SELECT array_agg(tgname::text ORDER BY tgname) FROM pg_trigger WHERE tgrelid = 'yquota.container_event'::regclass AND NOT tgisinternal),
		  '{append_only,charge_events}'::text[], 'container_event has one trigger that charges');
SELECT is((SELECT tgtype & 4 FROM pg_trigger WHERE tgrelid = 'yquota.container_event'::regclass AND tgname = 'append_only'),
		  0, 'the other trigger does not know of INSERT');
SELECT ok(NOT relrowsecurity, 'container_event has no row-level security') FROM pg_class WHERE oid = 'yquota.container_event'::regclass;
SELECT is((SELECT is_nullable::boolean FROM information_schema.columns WHERE table_schema = schema AND table_name = name AND column_name = 'project'),
		  false, format('project is NOT NULL in %s.%s, which carries money', schema, name))
FROM (VALUES ('yquota', 'charge'), ('yquota', 'event_void'), ('yquota', 'quota_grant'), ('yquota_internal', 'project_counter'), ('yquota_internal', 'rate_class_counter')) AS wanted (schema, name);
SELECT is_empty($$SELECT c.oid::regclass, a.attname FROM own_relation AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
				  WHERE c.relkind = 'r' AND a.attnum > 0 AND (a.atttypid IN ('money'::regtype, 'timestamp'::regtype)
				  -- Hadoop computes the limits of queues with floats
				  OR a.atttypid IN ('float4'::regtype, 'float8'::regtype) AND c.oid <> ALL ('{yquota.queue,yquota.queue_label,yquota.queue_user,yquota.reservation_queue,yquota.scheduler_setting}'::regclass[]))$$,
				'no table has a column of a floating-point type, those of queues excepted, or of time without a zone');
SELECT is_empty($$SELECT c.oid::regclass, a.attname FROM own_relation AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
				  WHERE c.relkind = 'r' AND a.attname = 'container_id' AND a.attcollation <> (SELECT oid FROM pg_collation WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace)$$,
				'container ids sort bytewise in every table');
SELECT is_empty($$SELECT k.conrelid::regclass, k.conname FROM pg_constraint AS k JOIN own_relation AS c ON c.oid = k.conrelid WHERE k.conname ~ '[0-9]$'$$,
				'no constraint has a number in place of a name');

--
-- Every object has a comment
--
SELECT is_empty($$
	SELECT pg_describe_object(m.classid, m.objid, 0) FROM member AS m
	LEFT JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
	LEFT JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
	WHERE obj_description(m.objid, (SELECT relname FROM pg_class WHERE oid = m.classid)) IS NULL
	  -- leave out objects that are created with another one: row and array types, sequences of
	  -- identity columns, indexes
	  AND (t.oid IS NULL OR (t.typtype <> 'c' AND t.typcategory <> 'A'))
	  AND (c.oid IS NULL OR c.relkind IN ('r', 'v', 'm', 'p', 'f'))
	  -- the names of operator families and classes describe them
	  AND m.classid NOT IN ('pg_opclass'::regclass, 'pg_opfamily'::regclass, 'pg_amop'::regclass, 'pg_amproc'::regclass, 'pg_cast'::regclass)
	ORDER BY 1$$, 'every object has a comment');

--
-- Privileges
--
SELECT is_empty($$SELECT c.oid::regclass, a.privilege_type FROM own_relation AS c, aclexplode(c.relacl) AS a
				  WHERE a.grantee = 0 AND c.relkind IN ('r', 'S')$$, 'PUBLIC has no right on any table');
SELECT ok(NOT has_schema_privilege('public', 'yquota_internal', 'USAGE, CREATE'), 'yquota_internal is closed to PUBLIC');
SELECT ok(NOT has_schema_privilege('public', 'yquota', 'CREATE'), 'nobody creates in yquota');
SELECT is_empty($$SELECT signature FROM own_function WHERE prosecdef AND has_function_privilege('public', oid, 'EXECUTE') AND proname <> ALL ('{worker_processes,cron_runs,price_check,opportunistic_figures,plans_now,reservation_figures,holds_at,balance_of,credit_of,accruing_segments,focus_credits,focus_periods,doubted_ends,outliving_containers,full_queues,grants_in_force,grant_outcome,expired_loss,usable_interceptors,node_room,opportunistic_price_figures,over_allocation_figures,federation_figures,period_bills,preemption_figures,reported_nodes,waiting_figures}') ORDER BY 1$$,
				'no SECURITY DEFINER function is for everybody, but those behind worker_status, cron_jobs, metrics, hold_status, grant_status, project_balance, daily_cost, suspect_container, feed_status, scheduler_application, preemption_state, node_room, bill_by_project, focus_cost and the views of reports of nodes');
SELECT is_empty($$SELECT signature FROM own_function WHERE prorettype = 'trigger'::regtype AND has_function_privilege('public', oid, 'EXECUTE') ORDER BY 1$$,
				'no trigger function is for everybody');
SELECT is_empty($$SELECT signature FROM own_function WHERE provolatile = 'v' AND has_function_privilege('public', oid, 'EXECUTE') AND proname <> 'clock' ORDER BY 1$$,
				'nothing that changes anything is for everybody');

SELECT is_empty($$SELECT c.oid::regclass FROM own_relation AS c
				  WHERE c.relnamespace = 'yquota_internal'::regnamespace AND EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee <> c.relowner)$$,
				'nobody has a right on anything in yquota_internal');

--
-- Row-level security: every object about projects can be read by roles that may see only their own
-- projects
--
CREATE TEMPORARY VIEW of_projects AS
	SELECT c.* FROM own_relation AS c
	WHERE c.relnamespace = 'yquota'::regnamespace AND c.oid <> 'yquota.container_event'::regclass
	  AND (c.oid = 'yquota.project'::regclass
		   OR EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'project'));
SELECT cmp_ok((SELECT count(*) FROM of_projects WHERE relkind = relation_kind), '>=', least, format('relations of kind %s that carry a project were found', relation_kind))
FROM (VALUES ('r', 8::bigint), ('v', 8)) AS found (relation_kind, least);
SELECT is_empty($$SELECT oid::regclass FROM of_projects WHERE relkind <> 'v' AND NOT relrowsecurity$$, 'every table that carries a project has row-level security, container_event excepted');
SELECT is_empty($$SELECT c.oid::regclass FROM own_relation AS c WHERE c.relrowsecurity
				  AND NOT EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND pg_get_expr(p.polqual, p.polrelid) ~ 'reads_all')$$,
				'every policy asks who reads');
SELECT is_empty($$SELECT c.oid::regclass FROM own_relation AS c WHERE c.relrowsecurity
				  AND EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND regexp_replace(pg_get_expr(p.polqual, p.polrelid), 'SELECT yquota_internal.(reads_all|readable_projects)\(\)', '', 'g') ~ '(reads_all|readable_projects)\(\)')$$,
				'every policy asks once per query');
SELECT is_empty($$SELECT oid::regclass FROM of_projects WHERE relkind = 'v' AND NOT coalesce(reloptions @> '{security_barrier=true}', false)$$, 'every view that carries a project is a security barrier');
SELECT is_empty($$SELECT c.oid::regclass FROM of_projects AS c WHERE relkind = 'v' AND c.oid NOT IN ('yquota.daily_cost'::regclass, 'yquota.my_rejects'::regclass,
					'yquota.charge_by_project_day'::regclass, 'yquota.charge_by_queue_day'::regclass, 'yquota.charge_by_user_day'::regclass)
				  AND pg_get_viewdef(c.oid) !~ '(reads_all|reads_balances).*readable_projects'$$,
				'every view asks for the reader, itself or in the view that it is made of');
SELECT matches(pg_get_viewdef(format('yquota.charge_by_%s_day', name)::regclass), 'CROSS JOIN LATERAL yquota.cost_by_day', format('or has cost_by_day() ask: by %s', name)) FROM unnest('{project,queue,user}'::text[]) AS name;
SELECT matches(pg_get_viewdef('yquota.my_rejects'::regclass), 'sent_by.*pg_has_role', 'a view may ask whether the reader sent the row');
SELECT is_empty($$SELECT oid::regclass FROM of_projects WHERE relkind = 'v' AND pg_get_viewdef(oid) ~ '(?n)^UNION'$$,
				'no view is a bare union, which the planner takes apart with its barrier');
SELECT ok(pg_get_viewdef(made_of::regclass) ~ 'reads_all.*readable_projects' AND pg_get_viewdef(name::regclass) ~ split_part(made_of, '.', 2), format('%s is made of %s', name, made_of))
FROM (VALUES ('yquota.daily_cost', 'yquota_internal.settled_segment'), ('yquota.daily_cost', 'yquota_internal.running_segment'),
	('yquota.daily_cost', 'yquota_internal.readable_archived_cost')) AS views (name, made_of);
SELECT is_empty($$SELECT signature FROM own_function WHERE prosrc = 'yq_sql_run_as_owner' AND NOT EXISTS (
					SELECT FROM pg_proc AS behind WHERE behind.pronamespace = 'yquota_internal'::regnamespace AND behind.prosecdef
					AND behind.proname = own_function.proname || '_as_owner' AND behind.proargtypes = own_function.proargtypes AND behind.prorettype = own_function.prorettype)$$,
				'behind every shell there is a function');

--
-- Privileges: roles have only the privileges of the list
--
CREATE TEMPORARY VIEW decided AS
	SELECT l.object_kind, l.objid, l.privilege, l.kinds FROM yquota_internal.privilege AS l;
SELECT is_empty($$SELECT name FROM regexp_matches(pg_get_viewdef('yquota_internal.privilege'::regclass), '''\{([\w\s,]+)\}''', 'g') AS list (names),
				  LATERAL regexp_split_to_table(names[1], '\s*,\s*') AS name
				  WHERE name <> ALL ('{INSERT,SELECT,UPDATE,DELETE,EXECUTE,public,owner}') AND NOT EXISTS (
					SELECT relname FROM own_relation WHERE relname = name UNION ALL SELECT proname FROM own_function WHERE proname = name)$$,
				'every name in the list is the name of an object');
SELECT set_eq($$SELECT DISTINCT f.proname::text FROM own_function AS f WHERE f.pronamespace = 'yquota'::regnamespace AND NOT EXISTS (SELECT FROM decided AS d WHERE d.objid = f.oid)$$,
			  '{reset_clock,sequence_commands,set_clock}'::text[], 'these functions are for the owner alone');
SELECT is_empty($$SELECT c.oid::regclass FROM own_relation AS c WHERE c.relkind IN ('r', 'v') AND c.relnamespace = 'yquota'::regnamespace
				  AND NOT EXISTS (SELECT FROM decided AS d WHERE d.objid = c.oid AND d.privilege = 'SELECT' AND 'admin' = ANY (d.kinds))$$,
				'administrators read every table and view');
SELECT is_empty($$SELECT object FROM yquota_internal.privilege WHERE kinds <@ '{operator,viewer,member,admin}' OR kinds = '{public}' EXCEPT SELECT object FROM yquota_internal.privilege
				  UNION ALL SELECT object FROM yquota_internal.privilege WHERE NOT (kinds <@ '{operator,viewer,member,admin}' OR kinds = '{public}')$$, 'decisions name kinds of role_grant');
SELECT is_empty($$SELECT object FROM yquota_internal.privilege WHERE 'viewer' = ANY (kinds) AND NOT 'admin' = ANY (kinds) OR 'member' = ANY (kinds) AND NOT 'viewer' = ANY (kinds)$$,
				'an administrator may what a viewer may, and he what a member may');
SELECT is_empty($$SELECT object, privilege, kinds FROM yquota_internal.privilege WHERE privilege NOT IN ('SELECT', 'EXECUTE') AND kinds && '{viewer,member}'
				  OR privilege <> 'SELECT' AND 'operator' = ANY (kinds) AND NOT (object = 'yquota.container_event' AND privilege = 'INSERT')
				  -- a policy of the scheduler may let roles of any kind change queues
				  AND object <> 'yquota.mutate_configuration(jsonb,text,text[])'
				  -- these functions themselves check whose credit it is
				  AND object !~ '^yquota\.(hold|release|release_hold|transfer_credit|reverse_transfer)\('
				  AND object <> ALL ('{yquota.create_queue(text),yquota.manage_queues(),yquota.remove_unused_queues()}')
				  -- a quote places the reservation as a dry run does
				  AND object !~ '^yquota\.price_quote\(yquota\.reservation_contract,'
				  -- operators act for the resource manager
				  AND object !~ '^yquota\.(submit|finish|move)_application\(|^yquota\.(new_reservation_id|(submit|update|delete)_reservation|remove_ended_reservations|follow_plans)\(|^yquota\.(admission|update_application_priority|update_application_lifetime|set_application_tags|set_outstanding_requests|activate_applications|remove_finished_applications|request_containers|release_containers|update_blacklist|update_containers?|schedule|preempt_containers|end_expired_applications|node_heartbeat|report_nodes|report_progress|report_application_progress|allocate_opportunistic|lease_nodes|report_distributed_containers|acknowledge|acknowledge_decisions|acknowledge_node_work|enqueue_container|container_ended|container_paused|advance_node_queue|shed_containers|recover_node_queue|import_rm_audit(_file)?|import_nodes|import_cluster_metrics|register_node|node_lost|reconcile|recover_containers|reject_call|report_feed_problem|report_outage|report_recovery)\('
				  AND CASE WHEN privilege = 'EXECUTE' THEN (SELECT f.provolatile = 'v' FROM pg_proc AS f WHERE f.oid = object::regprocedure) ELSE true END$$,
				'viewers and members write nothing, operators insert events, have queues do what they do by themselves, and ask what changes nothing');
CREATE ROLE regress_operator; CREATE ROLE regress_viewer; CREATE ROLE regress_member; CREATE ROLE regress_admin;
INSERT INTO yquota.project (name) VALUES ('decided');
SELECT yquota.allow_role('regress_operator', 'operator'), yquota.allow_role('regress_viewer', 'viewer'), yquota.allow_role('regress_member', 'member', 'decided'), yquota.allow_role('regress_admin', 'admin') \g /dev/null
SELECT bag_eq($$SELECT c.oid::regclass::text, a.privilege_type, replace(coalesce(nullif(a.grantee, 0)::regrole::text, 'public'), 'regress_', '')
				FROM own_relation AS c, aclexplode(c.relacl) AS a
				WHERE a.grantee NOT IN (c.relowner, 'pg_monitor'::regrole)$$,
			  $$SELECT d.objid::regclass::text, d.privilege, kind FROM decided AS d, unnest(d.kinds) AS kind WHERE d.object_kind = 'TABLE'$$,
			  'the privileges of the catalog on tables and views are those of the list');
SELECT bag_eq($$SELECT f.signature::text, replace(coalesce(nullif(a.grantee, 0)::regrole::text, 'public'), 'regress_', '')
				FROM own_function AS f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) AS a
				WHERE a.grantee <> f.proowner$$,
			  $$SELECT d.objid::regprocedure::text, kind FROM decided AS d, unnest(d.kinds) AS kind WHERE d.object_kind = 'FUNCTION'$$,
			  'the privileges of the catalog on functions are those of the list');

--
-- Append-only tables, and the audit
--
SELECT is((SELECT array_agg(c.relname::text ORDER BY c.relname) FROM own_relation AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid
		   WHERE t.tgname = 'append_only' AND t.tgfoid = 'yquota_internal.refuse_rewriting()'::regprocedure),
		  '{archived_history,audit,base_price,billing_currency,calendar_factor,charge,charging_rule,container,container_change,container_event,credit_transfer,event_void,expired_grant,history_segment,hold,issued_bill,node_label_history,opening_balance,price,price_factor,pricing_change,quota_grant,reservation_charge,role_grant}'::text[],
		  'books, timelines, grants and the audit are append-only');
SELECT is_empty($$SELECT DISTINCT t.tgrelid::regclass FROM pg_trigger AS t WHERE t.tgname = 'append_only'
				  AND (SELECT bit_or(a.tgtype::integer) FROM pg_trigger AS a WHERE a.tgrelid = t.tgrelid AND a.tgname IN ('append_only', 'keep') AND a.tgtype & 3 = 2) & 56 <> 56$$,
				'for UPDATE, DELETE and TRUNCATE');
-- yquota itself fills all other tables: events and their results, reports of the cluster, and the
-- state of the running server.
SELECT is((SELECT array_agg(c.relname::text ORDER BY c.relname) FROM own_relation AS c
		   WHERE c.relkind = 'r' AND NOT (
			SELECT coalesce(bit_or(t.tgtype::integer) FILTER (WHERE t.tgtype & 1 = 1 OR t.tgnewtable IS NOT NULL OR t.tgoldtable IS NOT NULL), 0) & 28 = 28
				   AND coalesce(bit_or(t.tgtype::integer) FILTER (WHERE t.tgtype & 1 = 0), 0) & 32 = 32
			FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgfoid IN ('yquota_internal.note_audit()'::regprocedure, 'yquota_internal.note_audit_of_statement()'::regprocedure) AND t.tgenabled = 'O' AND t.tgqual IS NULL AND t.tgattr = '')),
		  '{accruing_reservation,active_leaf,alert,anywhere_turn,application,application_attempt,application_counter,application_tags,archived_cost,archived_cost_since,archived_history,archived_preemption,archived_quantity,audit,awaited_container,billed_calendar,billed_charge,billed_credit,blacklist,budget_grant,budget_lease,calendar_factor,carried_container,charge,charge_filter,charge_rollup,charged_through,cluster_contact,cluster_total,container,container_change,container_event,container_update,container_version,correction_due,counter_delta,created_queue,decision,deferred_event,discarded_event,ended_application,event_reject,event_void,event_without_effect,expected_duration,expired_grant,feed_counter,feed_problem,feed_reject,feed_sign,history_segment,hold,issued_bill,job_run,lease_epoch,lender,live_application_count,load_list,node,node_capacity,node_counter,node_difference,node_label_history,node_lease,node_preemption,node_queue,node_queue_capacity,node_queue_report,notification,notification_epoch,opening_balance,opportunistic_change,opportunistic_count,opportunistic_counter,opportunistic_counting,opportunistic_response,opportunistic_slot,pending_demand,plan_follower_round,preempted_container,preemption_mark,preemption_round,pricing_change,project_counter,project_family,queue_check,queue_status,rate_class_counter,released_log,reported_application_progress,reported_end,reported_progress,request_counter,reservation_allocation,reservation_charge,reservation_definition,reservation_queue,reservation_refusal,reserved_container,resource_request,rollup_day,rollup_state,running_class,running_reference,running_total,scheduler_change,scheduler_change_horizon,scheduler_count,scheduler_refusal,skipped_waiting,spending_mark,submission_refusal,taken_lease,told_crossing,usage_counter,usage_numbering,usage_version,utilization,utilization_history,verification,voided_event,waiting_look,worker_state,written_history}'::text[],
		  'every table of configuration is audited');

--
-- Functions
--
SELECT is_empty($$SELECT signature FROM own_function
				  WHERE (prosecdef OR lanname = 'plpgsql')
					AND NOT EXISTS (SELECT FROM unnest(proconfig) AS c WHERE c ~ '^search_path=("?pg_catalog"?)(, "?yquota"?)?, "?pg_temp"?$') ORDER BY 1$$,
				'every plpgsql and SECURITY DEFINER function pins its search_path');
-- The parsed form of a query takes many times the pages of its text. Two kinds of functions need
-- the parsed form: inlined functions, and functions that run as a role without USAGE on a schema
-- that they name.
SELECT is_empty($$SELECT signature FROM own_function
				  WHERE prosqlbody::text ~ '^\(' AND proconfig::text ~ 'search_path'
					AND (prosecdef OR NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee <> proowner)) ORDER BY 1$$,
				'queries that the owner runs, which are never inlined, are stored as their texts');
SELECT is_empty($$SELECT signature FROM own_function WHERE provolatile = 'v' AND proparallel <> 'u' AND proname <> 'clock' ORDER BY 1$$,
				'volatile functions are not for parallel plans, the clock excepted');
SELECT is_empty($$SELECT signature FROM own_function WHERE provolatile = 'i' AND proparallel <> 's'
				  -- the server marks every aggregate immutable
				  AND signature::regprocedure NOT IN (SELECT aggfnoid FROM pg_aggregate) ORDER BY 1$$,
				'immutable functions are parallel safe');
-- A block with EXCEPTION is a subtransaction, which neither workers nor the leader of a parallel plan may
-- begin. A wrapper calls its function named _as_owner. Functions named _query and _call return texts that
-- others run. Among functions of one name the one with the safest label is assumed to be called.
CREATE TEMPORARY TABLE body AS
	SELECT signature::text, format('%s.%s', pronamespace::regnamespace, proname) AS name, array_position('{s,r,u}', proparallel::text) AS level,
		   CASE WHEN prosrc = 'yq_sql_run_as_owner' THEN format('yquota_internal.%s_as_owner(', proname) ELSE coalesce(pg_get_function_sqlbody(oid), prosrc) END AS calls,
		   prosrc ~* '\mEXCEPTION\s+WHEN\M' AS has_block, proname ~ '_(query|call)$' AS is_text
	FROM own_function
	UNION ALL
	SELECT oid::regclass::text, oid::regclass::text, NULL, pg_get_viewdef(oid), false, true FROM own_relation WHERE relkind = 'v';
CREATE TEMPORARY TABLE call AS
	SELECT DISTINCT caller.signature AS caller, callee.signature AS callee
	FROM body AS caller CROSS JOIN LATERAL regexp_matches(caller.calls, '\m(yquota(?:_internal)?\.\w+)(\()?', 'g') AS named (parts)
	JOIN body AS callee ON callee.name = parts[1] AND (parts[2] IS NOT NULL OR callee.level IS NULL)
	WHERE NOT EXISTS (SELECT FROM body AS other WHERE other.name = callee.name AND other.level < callee.level);
SELECT is_empty($$SELECT signature FROM body WHERE has_block AND level < 3 ORDER BY 1$$, 'functions that begin subtransactions are not for parallel plans');
SELECT cmp_ok(count(*)::integer, '>', 20, 'there are such functions') FROM body WHERE has_block;
SELECT is_empty($$
	WITH RECURSIVE needed AS (
		SELECT signature, level FROM body WHERE level > 1
		UNION SELECT call.caller, needed.level FROM needed JOIN call ON call.callee = needed.signature)
	SELECT signature, max(needed.level) FROM needed JOIN body USING (signature) WHERE body.level < needed.level AND NOT is_text GROUP BY 1 ORDER BY 1$$,
	'no function is marked safer for parallel plans than what it calls');
SELECT is_empty($$SELECT signature FROM own_function WHERE prorettype = 'trigger'::regtype AND provolatile <> 'v' ORDER BY 1$$,
				'trigger functions are volatile');
SELECT volatility_is('yquota', name::name, volatility, format('%s is %s', name, volatility))
FROM (VALUES ('clock', 'volatile'), ('statement_clock', 'stable'), ('verify', 'stable'), ('quota_compute', 'volatile'),
			 ('set_multiplier', 'volatile'), ('amount', 'immutable'), ('fits_in', 'immutable')) AS wanted (name, volatility);
SELECT is(pg_get_function_arguments('yquota.verify(timestamptz)'::regprocedure),
		  'since timestamp with time zone DEFAULT NULL::timestamp with time zone', 'verify() looks at everything unless told otherwise');
SELECT is((SELECT proparallel::text FROM pg_proc WHERE oid = signature::regprocedure), 'r', format('%s is parallel restricted: it keeps a cache of prices', signature))
FROM unnest('{"yquota_internal.is_due(text,text,text,text,text,yquota.execution_type,yquota.resource,timestamptz,timestamptz,numeric,text)","yquota_internal.accrued(yquota.resource,text[],timestamptz,timestamptz)","yquota_internal.rate(yquota.resource,text[],timestamptz)","yquota_internal.dominant(yquota.resource,text[],timestamptz,timestamptz)","yquota_internal.factor_names(text,text,text,text,text,timestamptz,yquota.execution_type,numeric,text)"}'::text[]) AS signature;
SELECT is_empty($$SELECT signature FROM own_function WHERE proname ~ '^resource_(in|out|recv|send|add|subtract|eq|ne|lt|le|gt|ge|cmp|hash)' AND (provolatile <> 'i' OR proparallel <> 's')$$,
				'functions of type resource are immutable and parallel safe');

--
-- Dumps include every table, with a few exceptions. These are tables of the running server, notifications,
-- the worker's own records, and the running totals, roll-ups and the filter of history. Compaction,
-- roll_up_charges() and the worker compute the last three again.
--
SELECT is((SELECT array_agg(c.oid::regclass::text ORDER BY c.relname) FROM own_relation AS c, pg_extension AS e
		   WHERE e.extname = 'yquota' AND c.relkind = 'r' AND c.oid <> ALL (coalesce(e.extconfig, '{}'))),
		  '{yquota_internal.anywhere_turn,yquota_internal.charge_filter,yquota_internal.charge_rollup,yquota_internal.clock_setting,yquota_internal.cluster_contact,yquota_internal.feed_problem,yquota_internal.job_run,yquota_internal.load_list,yquota_internal.node_difference,yquota_internal.node_preemption,yquota_internal.node_queue_report,yquota_internal.notification,yquota_internal.notification_epoch,yquota_internal.opportunistic_slot,yquota_internal.queue_check,yquota_internal.rollup_day,yquota_internal.rollup_state,yquota_internal.running_class,yquota_internal.running_reference,yquota_internal.running_total,yquota_internal.scheduler_change,yquota_internal.scheduler_change_horizon,yquota_internal.skipped_waiting,yquota_internal.usage_numbering,yquota_internal.usage_version,yquota.verification,yquota_internal.waiting_look,yquota_internal.worker_state}'::text[],
		  'all tables are dumped but those of the running server and of looks of the worker, what nodes report, the running totals, roll-ups, the filter of history and what tells of usage and changes');
SELECT is_empty($$
	SELECT c.oid::regclass FROM own_relation AS c, pg_extension AS e
	WHERE e.extname = 'yquota' AND c.relkind = 'S' AND c.oid <> ALL (coalesce(e.extconfig, '{}'))$$,
	'sequences are dumped');
SELECT is_empty($$SELECT condition FROM pg_extension AS e, unnest(e.extcondition) AS condition WHERE e.extname = 'yquota' AND condition <> '' AND condition !~ '^ORDER BY '$$,
				'no row of a dumped table is left out');
SELECT is((SELECT count(*) FROM (SELECT unnest(extconfig) AS relation FROM pg_extension WHERE extname = 'yquota') AS c GROUP BY relation HAVING count(*) > 1),
		  NULL, 'no table is marked twice');

--
-- History: a sealed table looks like the table from which it was sealed
--
SELECT is(yquota_internal.archive_horizon(), '-infinity', 'nothing has been archived');
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
SELECT is(yquota.seal_history(), 1, 'history is sealed');
CREATE TEMPORARY VIEW sealed AS
	SELECT i.inhrelid::regclass AS child, i.inhparent::regclass AS parent
	FROM pg_inherits AS i WHERE i.inhparent IN ('yquota.charge'::regclass, 'yquota.container_event'::regclass);
SELECT is((SELECT array_agg(child::text ORDER BY child::text) FROM sealed),
		  '{yquota_internal.charge_sealed_1,yquota_internal.container_event_sealed_1}'::text[], 'into a table for each');
SELECT is((SELECT count(*) FROM yquota_internal.container_event_sealed_1), 1::bigint, 'with the rows');
SELECT is_empty('SELECT 1 FROM ONLY yquota.container_event', 'the archived rows are no longer where they were');
SELECT is((SELECT relowner FROM pg_class WHERE oid = child), (SELECT relowner FROM pg_class WHERE oid = parent), format('%s has the owner of its parent', child)) FROM sealed;
SELECT is_empty(format('SELECT * FROM aclexplode((SELECT relacl FROM pg_class WHERE oid = %L::regclass)) AS a
						WHERE a.grantee <> (SELECT relowner FROM pg_class WHERE oid = %L::regclass)', child, child),
				format('nobody has a right on %s', child)) FROM sealed;
SELECT is((SELECT array_agg((attname, atttypid, atttypmod, attcollation, attnotnull)::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = child AND attnum > 0),
		  (SELECT array_agg((attname, atttypid, atttypmod, attcollation, attnotnull)::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = parent AND attnum > 0),
		  format('%s has the columns of its parent', child)) FROM sealed;
SELECT is((SELECT array_agg((indkey, indclass, indcollation, indisunique)::text ORDER BY (indkey, indclass)::text) FROM pg_index WHERE indrelid = child),
		  (SELECT array_agg((indkey, indclass, indcollation, indisunique)::text ORDER BY (indkey, indclass)::text) FROM pg_index WHERE indrelid = parent),
		  format('%s has the indexes of its parent', child)) FROM sealed;
SELECT is((SELECT array_agg(format('%s %s', tgname, tgenabled)) FROM pg_trigger WHERE tgrelid = child), CASE WHEN parent = 'yquota.charge'::regclass THEN '{empty_bloom_filter A}'::text[] END,
		  format('%s has no triggers of its parent', child)) FROM sealed;
SELECT is((SELECT t.relname::text FROM pg_class AS c JOIN pg_class AS t ON t.oid = c.reltoastrelid WHERE c.oid = relation),
		  'pg_toast_' || relation::oid, format('the TOAST table of %s is called for it', relation))
FROM sealed, unnest(ARRAY[child, parent]) AS relation;
SELECT is(has_function_privilege('public', signature, 'EXECUTE'), false, format('%s must be granted', signature))
FROM unnest('{"yquota.seal_history()","yquota.archive(regclass,timestamptz)"}'::text[]) AS signature;

-- close_period() looks for the billed charges of each period that it corrects.
SELECT isnt_empty($$SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
					WHERE i.indrelid = 'yquota_internal.billed_charge'::regclass AND a.attname = 'charged_until'$$,
				  'an index finds the billed charges of a period');

SELECT * FROM finish();
ROLLBACK;

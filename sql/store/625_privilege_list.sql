--
-- The list of privileges of operators, viewers, members and administrators, and of every role.
--
-- No role but the owner may use an object unless a row of "named", or a rule below "named", grants
-- that. A name stands for all functions of that name. docs/privileges.md is printed from this list,
-- and a test compares the list and the page with the catalog.
--
CREATE VIEW yquota_internal.privilege AS
	WITH object AS (
		SELECT 'TABLE' AS object_kind, class.oid AS objid, class.relname::text AS name,
			   class.relnamespace = 'yquota'::regnamespace AS is_interface, 'SELECT' AS privilege, true AS only_reads
		FROM pg_extension AS extension
		JOIN pg_depend AS member ON member.refclassid = 'pg_extension'::regclass AND member.refobjid = extension.oid
		JOIN pg_class AS class ON member.classid = 'pg_class'::regclass AND class.oid = member.objid
		WHERE extension.extname = 'yquota' AND member.deptype = 'e' AND class.relkind IN ('r', 'v')
		UNION ALL
		SELECT 'FUNCTION', function.oid, function.proname::text,
			   function.pronamespace = 'yquota'::regnamespace, 'EXECUTE', function.provolatile <> 'v'
		FROM pg_extension AS extension
		JOIN pg_depend AS member ON member.refclassid = 'pg_extension'::regclass AND member.refobjid = extension.oid
		JOIN pg_proc AS function ON member.classid = 'pg_proc'::regclass AND function.oid = member.objid
		WHERE extension.extname = 'yquota' AND member.deptype = 'e'
	), named AS (
		SELECT list.object_kind, privilege, list.kind, name
		FROM (VALUES
			('TABLE', '{INSERT}'::text[], 'operator', '{container_event}'::text[]),
			-- state of the scheduler, and inputs of its decisions; row-level security selects the rows that a
			-- reader sees
			('TABLE', '{SELECT}', 'operator', '{
				application,blacklist,charged_through,cluster_setting,container_update,current_price,decision,
				exhausted_work,feed_status,my_rejects,node_lease,node_queue,node_queue_report,node_room,
				opportunistic_limit_usage,opportunistic_node,over_allocation,preempted_container,preemption_mark,
				preemption_state,project_balance,request_interceptor,reservation_allocation,reservation_definition,
				reservation_queue,reserved_container,resource_request,scheduler_application,scheduler_node,
				scheduler_queue,scheduler_refusal}'),
			-- views of the reader's own projects, and the configuration of queues and of the cluster
			('TABLE', '{SELECT}', 'member', '{
				application,bill_by_project,billing_currency,billing_period,billing_setting,budget_lease_status,charge_by_project_day,
				charge_by_queue_day,charge_by_user_day,charged_through,cluster_lease,cluster_setting,cluster_status,
				container_cost,current_price,daily_cost,exhausted_work,federated_budget_status,focus_cost,focus_metadata,grant_status,
				hold_status,issued_bill,mapping_rule,multi_node_sorting_policy,node_label,opportunistic_limit_usage,
				opportunistic_price,over_allocation,preempted_container,price_calendar,price_history,project_balance,
				project_usage,
				queue,queue_label,queue_user,readable_alert,readable_charge,readable_container,readable_grant,
				readable_node_queue,readable_outage,readable_preemption_mark,reservation_allocation,
				reservation_charge,reservation_definition,scheduler_application,scheduler_setting,suspect_container,
				tariff,transfer_status,unmapped_property,user_setting,wildcard_template,workflow_priority_mapping}'),
			-- configuration, and reports of the cluster
			('TABLE', '{INSERT,UPDATE,DELETE}', 'admin', '{
				billing_setting,budget,cluster_setting,federated_budget,mapping_rule,multi_node_sorting_policy,node,
				node_label,opportunistic_price,outage,over_allocation,pending_demand,price_calendar,price_group,project,queue,
				queue_label,queue_user,request_interceptor,resource_type,retention_setting,scheduler_setting,
				shadow_tariff,spending_threshold,unmapped_property,user_setting,utilization,wildcard_template,
				workflow_priority_mapping}'),
			-- append-only timelines and grants, and views that functions maintain
			('TABLE', '{INSERT}', 'admin', '{billing_currency,charging_rule,cluster_lease,lending_federation,node_label_history,price_factor,quota_grant}'),
			('TABLE', '{UPDATE}', 'admin', '{alert,event_reject,federated_cluster}'),
			('TABLE', '{DELETE}', 'admin', '{event_reject,feed_reject}'),
			-- operators act for the resource manager
			('FUNCTION', '{EXECUTE}', 'operator', '{
				acknowledge_decisions,acknowledge_node_work,activate_applications,advance_node_queue,
				allocate_distributed,allocate_opportunistic,application_priority,check_application_access,
				check_queue_access,cluster_name,container_ended,container_paused,create_queue,delete_reservation,
				end_expired_applications,enqueue_container,expired_applications,explain_opportunistic_price,
				explain_reclaim,finish_application,follow_plans,headroom,hold,import_cluster_metrics,import_nodes,
				import_rm_audit,import_rm_audit_file,lease_nodes,list_reservations,manage_queues,map_reduce_request,
				move_application,mutate_configuration,new_reservation_id,node_heartbeat,node_lost,node_work,
				place_application,plan_allocation,preempt_containers,preemption_message,price_quote,reconcile,
				recover_containers,recover_node_queue,register_node,reject_call,release_containers,release_hold,
				remove_ended_reservations,remove_finished_applications,remove_unused_queues,
				report_application_progress,report_distributed_containers,report_feed_problem,report_nodes,
				report_outage,report_progress,report_recovery,request_containers,reservation_contract,
				reservation_plan_html,reservation_plan_text,reservation_request,schedule,set_application_tags,
				set_outstanding_requests,shed_containers,submit_application,submit_reservation,update_application_lifetime,
				update_application_priority,update_blacklist,update_container,update_containers,update_reservation,
				user_limit}'),
			-- reports and credit of the caller's own projects; queries about queues are open to every kind of role
			('FUNCTION', '{EXECUTE}', 'member', '{
				application_priority,balance_at,bill,bill_by_calendar,bill_html,billing_journal,check_queue_access,cluster_name,configuration_advice,
				cost_between,cost_by_calendar,cost_by_day,diff_hadoop_configuration,explain_charge,explain_opportunistic_price,
				explain_reservation,export_hadoop_configuration,federated_bill,federated_cost,federated_top_costs,
				federation_status,focus_query,forecast,hadoop_configuration,headroom,hold,map_reduce_request,mutate_configuration,
				place_application,preemption_cost,price_quote,read_notifications,release_hold,report_html,
				reservation_contract,reservation_request,submit_application,top_costs,usage_between,user_limit}'),
			-- these functions write only rows that the caller may write, or nothing
			('FUNCTION', '{EXECUTE}', 'viewer', '{hold,mutate_configuration,price_quote,release_hold,reverse_transfer,submit_application,transfer_credit}'),
			-- these functions set the clock and read all sequences
			('FUNCTION', '{EXECUTE}', 'owner', '{reset_clock,sequence_commands,set_clock}'),
			-- these functions only compute, or read the clock and rows that their caller may read
			('FUNCTION', '{EXECUTE}', 'public', '{
				amount,archive_digest,archive_digest_query,clock,dominant_share,fits_in,has_room_for,help,
				publication_commands,resource,resource_entries,resource_to_jsonb,statement_clock,sum}'),
			-- views and functions that run as their caller call these; other callers cannot name them without USAGE on
			-- the schema
			('FUNCTION', '{EXECUTE}', 'public', '{
				accrued,accrued_sum,accruing_segments,acting_groups,acting_role,acts_as,add_quarter_hours,
				add_rate_class,add_weight,amount_beside_rollup,archived_ledger_segment,archived_within_quarter_hour,
				assemble_mutation,balance_of,bill_applications,bill_facts,bill_statement,bill_style,bill_sums,billing_day,billing_day_start,charge_since,chart,chart_amount_text,
				chart_areas,chart_frame,chart_grid,chart_in_words,chart_legend,chart_now,chart_patterns,chart_step,
				chart_steps,chart_style,chart_times,chart_x,chart_y,configuration_key,cost_since,
				credit_instant,credit_of,cron_runs,default_cluster_name,demand,describe_changes,divide_half_even,
				dominant,doubted_ends,duration,edit_children,edited_children,effective_queues,expired_loss,
				factor_names,federation_figures,finish_accrued_sum,finish_pack_weights,finish_quarter_hours,
				finish_rate_sum,first_period,focus_credits,focus_periods,former_names,full_queues,grant_outcome,grants_in_force,
				hadoop_document_properties,hadoop_documents,hadoop_expectation,hadoop_hexadecimal,hadoop_integer,
				hadoop_json_properties,hadoop_labels,hadoop_list,hadoop_list_text,hadoop_milliseconds,
				hadoop_queue_tree,hadoop_real,hadoop_resolution_text,hadoop_resource,hadoop_rows,hadoop_rows_text,
				hadoop_text,hadoop_value,hadoop_xml_properties,holds_at,html,html_money,html_number,html_page,
				html_row,html_table,html_time,instant_in_words,is_due,is_hadoop_capacity,is_name_of_setting,is_queue_path,is_trusted,
				java_trim,json_list,judged_hadoop_properties,last_instant,last_known,last_known_step,last_period,
				match_hadoop_properties,max_clock_skew,may_have_rows,merge_weights,microseconds,money_text,multiplier,
				mutation_parameters,mutation_steps,nearest_name,next_label_change,next_period_start,next_quarter_hour,node_room,
				number_text,opportunistic_figures,opportunistic_price_figures,other_hadoop_names,outliving_containers,
				over_allocation_figures,pack_weights,page_style,parse_hadoop_json_rules,parse_hadoop_list,part_within,
				payer_project,payer_username,period_bills,period_in_words,period_numbers,period_start,plan_hadoop_import,plan_percent,
				plans_now,preemption_figures,price_check,price_intervals,prices_changed_from,quarter_hour,
				quarter_hour_sums,queue_and_parents,queues_above,rate,rate_sum,read_hadoop_import,readable_projects,
				reads_all,reads_balances,reason_for_no_property,reconcile_list,reconcile_plan,refuse_hadoop_value,
				refuse_mutation,refuse_queue_path,report_applications,report_cuts,report_figure,report_lines,report_nothing,
				report_shares,report_spending,report_spent,reported_nodes,require_read_committed,reservation_amount,
				reservation_figures,reserved_factor,resolve_hadoop_configuration,resolve_hadoop_properties,
				resource_add,resource_cmp,resource_eq,resource_ge,resource_gt,resource_hash,resource_hash_extended,
				resource_in,resource_in_words,resource_le,resource_lt,resource_multiply,resource_multirange,
				resource_ne,resource_negate,resource_out,resource_range,resource_recv,resource_send,
				resource_sortsupport,resource_subtract,resource_sum_accum,resource_sum_combine,resource_unit,resource_unit_size,
				resource_sum_deserialize,resource_sum_final,resource_sum_remove,resource_sum_serialize,restoring,
				running_cost,scopes_of_sharing,seconds_since,sees_commits,segment_cost,set_columns,settled_ahead,
				settled_cost,shape,shows_application,spend_grants,spent_by_now,spent_now,spent_until,
				substitute_hadoop_variables,unpack_delta,usable_interceptors,usage_bar,used_up_at,utc_day,waiting_figures,
				weight,worker_processes}')
			) AS list (object_kind, privileges, kind, names),
			 unnest(list.privileges) AS privilege, unnest(list.names) AS name
	), granted AS (
		SELECT object.object_kind, object.objid, named.privilege, named.kind
		FROM object
		JOIN named ON named.object_kind = object.object_kind AND named.name = object.name
		WHERE object.is_interface OR named.kind = 'public'
		UNION
		-- administrators read and call everything; viewers read everything except roles and the audit
		SELECT object.object_kind, object.objid, object.privilege, reader.kind
		FROM object
		JOIN (VALUES ('admin'), ('viewer')) AS reader (kind)
		  ON reader.kind = 'admin'
		  OR object.only_reads AND object.name <> ALL ('{audit,configuration_mutation,role_grant}')
		WHERE object.is_interface
		  AND (object.object_kind, object.name) NOT IN (
			  SELECT named.object_kind, named.name FROM named WHERE named.kind IN ('owner', 'public'))
	)
	SELECT granted.object_kind, granted.objid,
		   CASE granted.object_kind WHEN 'TABLE' THEN granted.objid::regclass::text ELSE granted.objid::regprocedure::text END AS object,
		   granted.privilege, array_agg(granted.kind ORDER BY granted.kind) AS kinds
	FROM granted
	WHERE granted.kind <> 'owner'
	GROUP BY granted.object_kind, granted.objid, granted.privilege;
COMMENT ON VIEW yquota_internal.privilege IS
	'Privileges on objects of yquota: the privileges of each kind of role, which allow_role() grants, and the privileges of every role';
COMMENT ON COLUMN yquota_internal.privilege.kinds IS
	'kinds of role_grant that have the privilege; {public}: every role';

/*-------------------------------------------------------------------------
 *
 * explain_guard.c
 *	  No plans of tables with other people's rows for who may not read them.
 *
 * Row-level security and security barriers keep rows from whoever may not see
 * them, but EXPLAIN tells how many rows of which kind there are: estimates come
 * from the statistics of all rows, and "Rows Removed by Filter" counts what the
 * policy took away after a condition chosen by the reader.  So EXPLAIN of a
 * query on a table with row-level security, or on one of yquota_internal, is for
 * roles that may read every project.
 *
 * EXPLAIN is recognized where it starts a plan only to look at it or to measure
 * it; plans that functions run meanwhile are neither.  debug_print_plan, which
 * everybody may set, sends every plan that is made to the client, those of
 * functions included, whose rights are not the client's: so there whoever logged
 * in, too, must be allowed to read everything.  The guard stands while the
 * library is loaded: preloading it lets no session begin without.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/syscache.h"

static ProcessUtility_hook_type previous_utility_hook = NULL;
static ExecutorStart_hook_type previous_start_hook = NULL;
static planner_hook_type previous_planner_hook = NULL;

/* EXPLAIN statements that are being run, one inside of the other. */
static int	explaining = 0;

/* Whether the table may have rows that some readers must not know of. */
static bool
is_guarded(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	result = form->relnamespace == get_namespace_oid("yquota_internal", true) ||
		(form->relrowsecurity && form->relnamespace == get_namespace_oid("yquota", true));
	ReleaseSysCache(tuple);
	return result;
}

static bool
reads_guarded(const PlannedStmt *plan)
{
	ListCell   *cell;

	foreach(cell, plan->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_RELATION && is_guarded(entry->relid))
			return true;
	}
	return false;
}

static void
refuse_plan(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("%s", message),
			 errdetail("Its plan tells of rows of all projects."),
			 errhint("yquota.grant_viewer() lets a role read all of them.")));
}

static PlannedStmt *
on_plan(Query *parse, const char *query, int cursor_options, ParamListInfo parameters)
{
	PlannedStmt *plan = previous_planner_hook
		? previous_planner_hook(parse, query, cursor_options, parameters)
		: standard_planner(parse, query, cursor_options, parameters);

	/* afterwards: functions that the planner calls may have turned it on */
	if (Debug_print_plan && reads_guarded(plan) &&
		!(yq_reads_all(yq_role_scope_role()) && yq_reads_all(GetSessionUserId())))
		refuse_plan("permission denied to print the plan of a query on the books of yquota");
	return plan;
}

static void
on_start(QueryDesc *query, int flags)
{
	if (explaining > 0 &&
		((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || query->instrument_options != 0) &&
		reads_guarded(query->plannedstmt) && !yq_reads_all(yq_role_scope_role()))
		refuse_plan("permission denied to explain a query on the books of yquota");
	if (previous_start_hook)
		previous_start_hook(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
on_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo parameters,
		   QueryEnvironment *environment, DestReceiver *destination, QueryCompletion *completion)
{
	int			explaining_outside = explaining;

	if (IsA(statement->utilityStmt, ExplainStmt))
		explaining++;
	PG_TRY();
	{
		if (previous_utility_hook)
			previous_utility_hook(statement, query, read_only_tree, context, parameters,
								  environment, destination, completion);
		else
			standard_ProcessUtility(statement, query, read_only_tree, context, parameters,
									environment, destination, completion);
	}
	PG_FINALLY();
	{
		explaining = explaining_outside;
	}
	PG_END_TRY();
}

void
yq_explain_guard_init(void)
{
	previous_planner_hook = planner_hook;
	planner_hook = on_plan;
	previous_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = on_start;
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
}

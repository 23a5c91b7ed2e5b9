/*-------------------------------------------------------------------------
 *
 * application_total.c
 *	  The number of live applications, and its limit.
 *
 * The limit of the whole cluster (maximum-applications) would make all
 * submissions wait for each other if each looked at what the others do.  So a
 * transaction may let in a few applications, its allowance, without looking, as
 * long as the limit is further away than the allowances of all transactions
 * that there can be.  It holds the lock of the total in a mode that others can
 * share meanwhile.  Beyond that the lock is taken alone: then nobody else has
 * let in anything that is not committed, and the total is exact.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/twophase.h"
#include "access/xact.h"
#include "admission/application_total.h"
#include "admission/queue_lock.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_unwritten_applications);

/* All allowances together are at most one part in so many of the limit. */
#define ALLOWANCES_OF_LIMIT 8

/* -- what this transaction has not written yet --------------------------------- */

typedef struct Unwritten
{
	SubTransactionId subtransaction;
	int64		change;
} Unwritten;

static List *unwritten = NIL;	/* in the context of the transaction */

/* Let in by this transaction under a lock that others share. */
static int	admitted = 0;

static int64
unwritten_change(void)
{
	int64		change = 0;
	ListCell   *cell;

	foreach(cell, unwritten)
		change += ((const Unwritten *) lfirst(cell))->change;
	return change;
}

/*
 * The transaction's user need have no right on the table.  Whoever has dropped
 * the extension meanwhile needs no total.
 */
static void
write_total(void)
{
	static YqSavedPlan add = {
		.command = "UPDATE yquota_internal.application_total AS t SET live = t.live + $2 WHERE t.part = $1",
		.types = {"int4", "int8"}
	};
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota_internal.application_total (part, live) VALUES ($1, $2)",
		.types = {"int4", "int8"}
	};
	int64		change = unwritten_change();
	Datum		values[2];
	Oid			user;
	int			security_context;

	unwritten = NIL;
	if (change == 0)
		return;
	values[0] = Int32GetDatum(yq_queue_lock_total());
	values[1] = Int64GetDatum(change);
	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(yq_extension_owner(), security_context | SECURITY_LOCAL_USERID_CHANGE);
	if (yq_saved_plan_execute(&add, values, NULL) == 0)
		(void) yq_saved_plan_execute(&insert, values, NULL);
	SetUserIdAndSecContext(user, security_context);
}

static void
on_transaction_event(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (unwritten != NIL)
				write_total();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			unwritten = NIL;
			admitted = 0;
			break;
		default:
			break;
	}
}

/* What was rolled back has changed nothing; what was released is the outer one's. */
static void
on_subtransaction_event(SubXactEvent event, SubTransactionId own_id, SubTransactionId parent_id,
						void *argument)
{
	ListCell   *cell;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	foreach(cell, unwritten)
	{
		Unwritten  *entry = lfirst(cell);

		if (entry->subtransaction != own_id)
			continue;
		entry->subtransaction = parent_id;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			entry->change = 0;
	}
}

static void
register_count_callbacks(void)
{
	static bool is_registered = false;

	if (is_registered)
		return;
	RegisterXactCallback(on_transaction_event, NULL);
	RegisterSubXactCallback(on_subtransaction_event, NULL);
	is_registered = true;
}

void
yq_total_add(int change)
{
	SubTransactionId own_id = GetCurrentSubTransactionId();
	Unwritten  *entry = unwritten == NIL ? NULL : llast(unwritten);

	if (change == 0)
		return;
	register_count_callbacks();
	if (entry == NULL || entry->subtransaction != own_id)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

		entry = palloc(sizeof(Unwritten));
		entry->subtransaction = own_id;
		entry->change = 0;
		unwritten = lappend(unwritten, entry);
		MemoryContextSwitchTo(old_context);
	}
	entry->change += change;
}

void
yq_total_forget(void)
{
	static YqSavedPlan delete = {.command = "DELETE FROM yquota_internal.application_total"};

	(void) yq_saved_plan_execute(&delete, NULL, NULL);
	yq_total_add(-unwritten_change());
}

/* unwritten_applications() */
Datum
yq_sql_unwritten_applications(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(unwritten_change());
}

/* -- the limit ------------------------------------------------------------------- */

static void
add_part(const YqRow *row)
{
	bool		isnull;

	*(int64 *) row->argument += DatumGetInt64(yq_row_value(row, 0, &isnull));
}

static int64
read_total(void)
{
	static const char *const columns[] = {"live"};
	Snapshot	snapshot = yq_latest_snapshot();
	int64		total = unwritten_change();

	yq_table_scan(YQ_APPLICATION_TOTAL, snapshot, columns, lengthof(columns), add_part, &total);
	UnregisterSnapshot(snapshot);
	return total;
}

YqSystemDecision
yq_system_decide(int maximum_applications, bool is_to_be_let_in)
{
	int			transactions = MaxBackends + max_prepared_xacts;
	int			allowance = Max(maximum_applications / (ALLOWANCES_OF_LIMIT * transactions), 1);
	YqSystemDecision decision = {.is_allowed = true};

	register_count_callbacks();
	if (is_to_be_let_in && admitted < allowance)
	{
		yq_queue_lock_system(ShareLock);
		decision.applications = read_total();
		if (decision.applications + (int64) transactions * allowance < maximum_applications)
		{
			admitted++;
			return decision;
		}
		/* two that hold it shared would wait for each other to let go */
		if (admitted == 0)
			yq_queue_unlock_system(ShareLock);
	}
	if (is_to_be_let_in)
		yq_queue_lock_system(ExclusiveLock);
	decision.applications = read_total();
	decision.is_allowed = decision.applications < maximum_applications;
	return decision;
}

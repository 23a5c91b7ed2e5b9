/*-------------------------------------------------------------------------
 *
 * opportunistic_count.c
 *	  How many OPPORTUNISTIC containers have been given out, for metrics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "catalog/pg_type_d.h"
#include "scheduler/record/opportunistic_count.h"
#include "store/row_update.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#define MILLISECONDS(n) (INT64CONST(n) * 1000)

/* From a call that is served at once to requests that wait for many reports of nodes. */
const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT] = {
	MILLISECONDS(10), MILLISECONDS(50), MILLISECONDS(100), MILLISECONDS(250), MILLISECONDS(500),
	MILLISECONDS(1000), MILLISECONDS(2500), MILLISECONDS(5000), MILLISECONDS(10000),
	MILLISECONDS(30000), MILLISECONDS(60000), MILLISECONDS(300000)
};

void
yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers)
{
	latency = Max(latency, 0);
	count->timed += containers;
	count->latency += latency * containers;
	for (int i = 0; i < YQ_LATENCY_BOUND_COUNT; i++)
	{
		if (latency <= yq_latency_bounds[i])
			count->within[i] += containers;
	}
}

/* -- writing ------------------------------------------------------------------ */

enum
{
	COUNT_PART,
	COUNT_CENTRAL,
	COUNT_NODE_LOCAL,
	COUNT_RACK_LOCAL,
	COUNT_OFF_SWITCH,
	COUNT_DEMOTED,
	COUNT_PROMOTED_BY_RULE,
	COUNT_TIMED,
	COUNT_LATENCY,
	COUNT_WITHIN,
	COUNT_COLUMNS
};

static const char *const column_names[] = {
	"part", "central", "node_local", "rack_local", "off_switch", "demoted", "promoted_by_rule", "timed", "latency", "within"
};

static void
add_to_column(YqRowUpdate *row, bool is_found, int column, int64 number)
{
	int64		before = is_found ? DatumGetInt64(yq_row_update_value(row, column)) : 0;

	yq_row_update_set(row, column, Int64GetDatum(before + number));
}

static void
add_within(YqRowUpdate *row, bool is_found, const int64 *within)
{
	Datum		sums[YQ_LATENCY_BOUND_COUNT];

	for (int i = 0; i < YQ_LATENCY_BOUND_COUNT; i++)
		sums[i] = Int64GetDatum(within[i]);
	if (is_found)
	{
		Datum	   *before;
		int			count;

		deconstruct_array(DatumGetArrayTypeP(yq_row_update_value(row, COUNT_WITHIN)), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
						  TYPALIGN_DOUBLE, &before, NULL, &count);
		for (int i = 0; i < Min(count, YQ_LATENCY_BOUND_COUNT); i++)
			sums[i] = Int64GetDatum(DatumGetInt64(before[i]) + within[i]);
	}
	yq_row_update_set(row, COUNT_WITHIN, PointerGetDatum(construct_array(sums, YQ_LATENCY_BOUND_COUNT, INT8OID, sizeof(int64),
																		 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
}

void
yq_opportunistic_count_write(const YqOpportunisticCount *count)
{
	Datum		part = Int32GetDatum(yq_queue_lock_total());
	YqRowUpdate *row = yq_row_update_open(YQ_OPPORTUNISTIC_COUNT, "opportunistic_count_pkey", column_names, COUNT_COLUMNS);
	bool		is_found = yq_row_update_find(row, &part);

	add_to_column(row, is_found, COUNT_CENTRAL, count->central);
	add_to_column(row, is_found, COUNT_NODE_LOCAL, count->node_local);
	add_to_column(row, is_found, COUNT_RACK_LOCAL, count->rack_local);
	add_to_column(row, is_found, COUNT_OFF_SWITCH, count->off_switch);
	add_to_column(row, is_found, COUNT_DEMOTED, count->demoted);
	add_to_column(row, is_found, COUNT_PROMOTED_BY_RULE, count->promoted_by_rule);
	add_to_column(row, is_found, COUNT_TIMED, count->timed);
	add_to_column(row, is_found, COUNT_LATENCY, count->latency);
	add_within(row, is_found, count->within);
	yq_row_update_write(row);
	yq_row_update_close(row);
}

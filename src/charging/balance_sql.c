/*-------------------------------------------------------------------------
 *
 * balance_sql.c
 *	  SQL aggregates for accruals and burn rates of running containers.  Numbers of
 *	  rate classes in running totals, and the time for which credit lasts.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/stratnum.h"
#include "access/xact.h"
#include "base/arguments.h"
#include "base/delta_entries.h"
#include "base/resource.h"
#include "base/wide.h"
#include "charging/ledger.h"
#include "charging/packed_weights.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pricing/rate_class.h"
#include "pricing/timeline.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- running class ------------------------------------------------------------- */

/*
 * Numbers of rate classes in running totals.
 *
 * yquota_internal.running_class numbers the classes.  Each backend caches the classes that it has
 * met.
 *
 * A committed number always stands for the same class, so cached numbers are never checked again.
 * After a rollback, other classes may get the numbers that the transaction had given.  The next
 * refresh therefore drops these numbers from the cache.
 */

/* Cached classes, indexed by number.  An array suffices, because numbers are consecutive. */
static YqRateClass **known = NULL;
static uint32 known_room = 0;
static uint64 known_generation = 0; /* generation of rate classes to which the pointers belong */
static Oid	known_from = InvalidOid;	/* OID of the table from which the classes were read */
static bool has_own_numbers = false;

static void
forget_all(void)
{
	if (known != NULL)
		memset(known, 0, sizeof(YqRateClass *) * known_room);
	has_own_numbers = false;
}

/* Bring the cached classes up to date.  Every function that reads running totals calls this function first. */
static void
running_class_refresh(void)
{
	if (has_own_numbers || known_from != yq_table_oid(YQ_RUNNING_CLASS))
		forget_all();
	known_from = yq_table_oid(YQ_RUNNING_CLASS);
}

static void
remember(uint32 class_id, YqRateClass *rate_class)
{
	if (class_id >= known_room)
	{
		uint32		room = Max(class_id + 1, known_room * 2 + 1024);

		known = known == NULL ? MemoryContextAllocHuge(TopMemoryContext, sizeof(YqRateClass *) * room) :
			repalloc_huge(known, sizeof(YqRateClass *) * (Size) room);
		memset(known + known_room, 0, sizeof(YqRateClass *) * (room - known_room));
		known_room = room;
	}
	known[class_id] = rate_class;
}

static void
remember_row(const YqRow *row)
{
	bool		isnull;
	uint32		class_id = DatumGetUInt32(yq_row_value(row, 0, &isnull));
	YqResource *shape = DatumGetYqResourceP(yq_row_value(row, 1, &isnull));
	Datum		factors = yq_row_value(row, 2, &isnull);
	ArrayType  *factor_names = isnull ? NULL : DatumGetArrayTypeP(factors);
	TransactionId xmin = DatumGetTransactionId(slot_getsysattr(row->slot, MinTransactionIdAttributeNumber, &isnull));
	uint64		weight;

	has_own_numbers |= TransactionIdIsCurrentTransactionId(xmin);
	remember(class_id, yq_rate_class_require(shape, factor_names, &weight));
}

/* Read the class of a number, and the classes of all higher numbers. */
static void
load_from(uint32 class_id)
{
	static const char *const columns[] = {"class_id", "shape", "factors"};
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTGreaterEqualStrategyNumber, F_INT4GE, UInt32GetDatum(class_id));
	yq_table_scan_keys(YQ_RUNNING_CLASS, "running_class_pkey", GetActiveSnapshot(), &key, 1,
					   columns, lengthof(columns), remember_row, NULL);
}

/*
 * Return the class of a number, as the active snapshot sees it.  The caller has refreshed prices.
 * Raises ERRCODE_DATA_CORRUPTED when the number has no class.
 */
static YqRateClass *
running_class(uint32 class_id)
{
	if (known_generation != yq_rate_class_generation())
	{
		forget_all();
		known_generation = yq_rate_class_generation();
	}
	if (class_id < known_room && known[class_id] != NULL)
		return known[class_id];
	load_from(class_id);
	if (class_id >= known_room || known[class_id] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("rate class %u of the running totals does not exist", class_id)));
	return known[class_id];
}

/* -- balance sql --------------------------------------------------------------- */

/*
 * Aggregates for balances.  A balance adds up hundreds or thousands of rate classes.  Both
 * aggregates share one state, which PostgreSQL computes once if a query calls both:
 *
 *    accrued   sum of weight x cost of the class from reference_at to "at"
 *    rate      sum of weight x credits per second of the class at "at"
 *
 * A row contains a class with its weight, or a packed list of classes and weights.  If reference_at
 * of the row is NULL, each class of the list has its own reference_at.  The aggregates ignore
 * accruals before reference_at, and also starts that are later than reference_at.  The reader
 * subtracts the accrual bases, and adds rows of settled_ahead() for starts after "at".
 */

PG_FUNCTION_INFO_V1(yq_sql_add_rate_class);
PG_FUNCTION_INFO_V1(yq_sql_accrued_sum);
PG_FUNCTION_INFO_V1(yq_sql_prices_changed_from);
PG_FUNCTION_INFO_V1(yq_sql_rate_sum);
PG_FUNCTION_INFO_V1(yq_sql_settled_ahead);
PG_FUNCTION_INFO_V1(yq_sql_used_up_at);

/* Arguments of add_rate_class() */
enum
{
	ARGUMENT_STATE,
	ARGUMENT_SHAPE,
	ARGUMENT_FACTORS,
	ARGUMENT_WEIGHT,
	ARGUMENT_WEIGHTS,
	ARGUMENT_REFERENCE_AT,
	ARGUMENT_AT
};

typedef struct RunningSum
{
	YqWide		accrued;
	YqWide		rate;
} RunningSum;

static RunningSum *
running_sum(FunctionCallInfo fcinfo)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "accrued_sum() or rate_sum()");

	if (!PG_ARGISNULL(ARGUMENT_STATE))
		return (RunningSum *) PG_GETARG_POINTER(ARGUMENT_STATE);
	return MemoryContextAllocZero(context, sizeof(RunningSum));
}

/* Compute sum += unit x weight.  Both may be negative. */
static void
add_weighted(YqWide *sum, const YqWide *unit, int128 weight)
{
	YqWide		product = *unit;

	if (unit->limb[YQ_WIDE_LIMBS - 1] == 0 && weight >= 0 && (weight >> 63) == 0)
	{
		yq_wide_add_multiple(sum, unit, (uint64) weight);
		return;
	}
	yq_wide_multiply(&product, weight < 0 ? -(uint128) weight : (uint128) weight);
	if (weight < 0)
		yq_wide_negate(&product);
	yq_wide_add(sum, &product);
}

static void
add_class(RunningSum *sum, YqRateClass *rate_class, int128 weight,
		  TimestampTz reference_at, TimestampTz at)
{
	const YqWide *accrued;
	const YqWide *rate;

	yq_rate_class_unit_cost(rate_class, reference_at, at, &accrued, &rate);
	add_weighted(&sum->accrued, accrued, weight);
	add_weighted(&sum->rate, rate, weight);
}

/* Add the rate classes of a packed row of counter_delta.  Each class has its own reference_at. */
static void
add_changes(RunningSum *sum, const bytea *packed, TimestampTz at)
{
	YqEntryReader reader;
	YqClassChange change;
	uint64		unit_weight;

	yq_entries_read(&reader, packed);
	while (yq_delta_next_class(&reader, &change))
	{
		CHECK_FOR_INTERRUPTS();
		add_class(sum, yq_rate_class_require(change.shape, change.factors, &unit_weight),
				  change.weight, change.reference_at, at);
	}
}

/*
 * add_rate_class(state, shape, factors, weight, weights, reference_at, at) ignores a row that has
 * neither a weight nor a list of weights.
 */
Datum
yq_sql_add_rate_class(PG_FUNCTION_ARGS)
{
	RunningSum *sum = running_sum(fcinfo);
	TimestampTz reference_at;
	TimestampTz at;

	if (PG_ARGISNULL(ARGUMENT_AT))
		PG_RETURN_POINTER(sum);
	at = PG_GETARG_TIMESTAMPTZ(ARGUMENT_AT);
	(void) yq_rate_class_refresh();
	if (PG_ARGISNULL(ARGUMENT_REFERENCE_AT))
	{
		if (!PG_ARGISNULL(ARGUMENT_WEIGHTS))
			add_changes(sum, PG_GETARG_BYTEA_PP(ARGUMENT_WEIGHTS), at);
		PG_RETURN_POINTER(sum);
	}
	reference_at = PG_GETARG_TIMESTAMPTZ(ARGUMENT_REFERENCE_AT);
	if (!PG_ARGISNULL(ARGUMENT_SHAPE) && !PG_ARGISNULL(ARGUMENT_WEIGHT))
	{
		ArrayType  *factors = PG_ARGISNULL(ARGUMENT_FACTORS) ? NULL :
			PG_GETARG_ARRAYTYPE_P(ARGUMENT_FACTORS);
		uint64		unit_weight;
		YqRateClass *rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(ARGUMENT_SHAPE),
														factors, &unit_weight);

		add_class(sum, rate_class, yq_weight_from_numeric(PG_GETARG_NUMERIC(ARGUMENT_WEIGHT)),
				  reference_at, at);
	}
	if (!PG_ARGISNULL(ARGUMENT_WEIGHTS))
	{
		YqWeightReader reader;
		uint32		class_id;
		int128		weight;

		running_class_refresh();
		yq_weights_begin(&reader, PG_GETARG_BYTEA_PP(ARGUMENT_WEIGHTS));
		while (yq_weights_next(&reader, &class_id, &weight))
		{
			CHECK_FOR_INTERRUPTS();
			add_class(sum, running_class(class_id), weight, reference_at, at);
		}
	}
	PG_RETURN_POINTER(sum);
}

/* Final function: return the accrued credits, or NULL when no row was aggregated. */
Datum
yq_sql_accrued_sum(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(ARGUMENT_STATE))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&running_sum(fcinfo)->accrued));
}

/* Final function: return the credits per second, or NULL when no row was aggregated. */
Datum
yq_sql_rate_sum(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(ARGUMENT_STATE))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&running_sum(fcinfo)->rate));
}

/*
 * prices_changed_from(version) returns infinity when no price has changed since the version, and
 * -infinity when the version is unknown.
 */
Datum
yq_sql_prices_changed_from(PG_FUNCTION_ARGS)
{
	(void) yq_rate_class_refresh();
	PG_RETURN_TIMESTAMPTZ(yq_timeline_changed_from(PG_GETARG_INT64(0)));
}

/* -- how long credit lasts -------------------------------------------------------- */

static bool
is_positive(Datum credits)
{
	return DatumGetBool(DirectFunctionCall2(numeric_gt, credits, NumericGetDatum(int64_to_numeric(0))));
}

/* used_up_at(now, credits, rate): see sql/charging/280_reports.sql */
Datum
yq_sql_used_up_at(PG_FUNCTION_ARGS)
{
	TimestampTz now_at;
	Datum		scaled;
	Datum		rate;
	Datum		microseconds;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	now_at = PG_GETARG_TIMESTAMPTZ(0);
	if (!is_positive(PG_GETARG_DATUM(1)) || TIMESTAMP_IS_NOBEGIN(now_at))
		PG_RETURN_TIMESTAMPTZ(now_at);
	if (PG_ARGISNULL(2) || !is_positive(PG_GETARG_DATUM(2)) || TIMESTAMP_IS_NOEND(now_at))
		PG_RETURN_NULL();

	rate = PG_GETARG_DATUM(2);
	scaled = DirectFunctionCall2(numeric_mul, PG_GETARG_DATUM(1), NumericGetDatum(int64_to_numeric(USECS_PER_SEC)));
	microseconds = NumericGetDatum(int64_to_numeric(END_TIMESTAMP - USECS_PER_SEC - now_at));
	if (DatumGetBool(DirectFunctionCall2(numeric_ge, scaled, DirectFunctionCall2(numeric_mul, rate, microseconds))))
		PG_RETURN_NULL();
	microseconds = DirectFunctionCall2(numeric_div_trunc, scaled, rate);
	if (is_positive(DirectFunctionCall2(numeric_mod, scaled, rate)))
		now_at++;
	PG_RETURN_TIMESTAMPTZ(now_at + DatumGetInt64(DirectFunctionCall1(numeric_int8, microseconds)));
}

/* -- containers that the sums still count as running ----------------------------------- */

/* Columns of the result of settled_ahead(), which are also columns of yquota.container. */
static const char *const ahead_columns[] = {"project", "allocation", "factors", "settled_at"};

typedef struct AheadScan
{
	ReturnSetInfo *result;
	TimestampTz now_at;
	TimestampTz latest;			/* the latest settled_at that was found, or the charged-through mark if it is later */
} AheadScan;

static void
return_ahead(const YqRow *row)
{
	AheadScan  *scan = row->argument;
	Datum		values[lengthof(ahead_columns)];
	bool		nulls[lengthof(ahead_columns)];
	TimestampTz settled_at;

	for (int i = 0; i < (int) lengthof(ahead_columns); i++)
		values[i] = yq_row_value(row, i, &nulls[i]);
	settled_at = DatumGetTimestampTz(values[lengthof(ahead_columns) - 1]);
	scan->latest = Max(scan->latest, settled_at);
	if (settled_at > scan->now_at)
		tuplestore_putvalues(scan->result->setResult, scan->result->setDesc, values, nulls);
}

/*
 * settled_ahead(now_at, mark) always reads the index, whatever the size of the table.  Before the
 * first ANALYZE, the planner knows too little about the table to choose the index.
 *
 * The index does not contain containers that were settled a day or more before their row was
 * written.  Such a container may be settled ahead of the clock only if the clock has gone back by
 * a day or more.  Running containers or the charged-through mark (NULL if there is none) show that
 * the clock has gone back.  The function then reads the table itself.
 */
Datum
yq_sql_settled_ahead(PG_FUNCTION_ARGS)
{
	AheadScan	scan = {.result = (ReturnSetInfo *) fcinfo->resultinfo,.latest = DT_NOBEGIN};
	ScanKeyData key;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	scan.now_at = PG_GETARG_TIMESTAMPTZ(0);
	if (!PG_ARGISNULL(1))
		scan.latest = PG_GETARG_TIMESTAMPTZ(1);
	ScanKeyInit(&key, 1, BTGreaterStrategyNumber, F_TIMESTAMPTZ_GT, PG_GETARG_DATUM(0));
	yq_table_scan_keys(YQ_CONTAINER, "container_settled_at_idx", GetActiveSnapshot(), &key, 1,
					   ahead_columns, lengthof(ahead_columns), return_ahead, &scan);
	if (scan.latest > scan.now_at + YQ_SETTLED_LATELY / 2)
	{
		tuplestore_clear(scan.result->setResult);
		yq_table_scan(YQ_CONTAINER, GetActiveSnapshot(), ahead_columns, lengthof(ahead_columns),
					  return_ahead, &scan);
	}
	return (Datum) 0;
}

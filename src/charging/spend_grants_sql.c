/*-------------------------------------------------------------------------
 *
 * spend_grants_sql.c
 *	  Rests of the grants of a project, and losses of those that expired.
 *
 * The grants that can be spent lie in a heap, the one that expires first on
 * top: it pays first, and it is the next one to expire.  Each grant enters the
 * heap and leaves it once, so the time is that of sorting them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_spend_grants);

/* Arguments of spend_grants() */
enum
{
	ARGUMENT_GRANT_IDS,
	ARGUMENT_AMOUNTS,
	ARGUMENT_BEGIN,
	ARGUMENT_EXPIRE,
	ARGUMENT_LEAVE,
	ARGUMENT_INSTANTS,
	ARGUMENT_SPENT
};

/* Columns of its result */
enum
{
	OUTCOME_GRANT_ID,
	OUTCOME_REST,
	OUTCOME_LOST,
	OUTCOME_COLUMNS
};

typedef struct Grant
{
	int64		grant_id;
	Numeric		amount;			/* negative: credit that is taken back */
	TimestampTz begins_at;
	TimestampTz expires_at;
	TimestampTz leaves_at;		/* when it goes to the credit of another project */
	bool		has_begun;
	bool		has_left;
	Numeric		rest;
} Grant;

typedef struct Credit
{
	int			count;
	Grant	   *grants;
	Grant	  **by_begin;		/* the same in the order of begins_at */
	Grant	  **by_leave;		/* the same in the order of leaves_at */
	int			begun;			/* so many of by_begin */
	int			left;			/* so many of by_leave */
	binaryheap *valid;			/* grants that can be spent, and those that could until they left */
	Numeric		zero;
	Numeric		owed;			/* spending that no grant has paid yet */
} Credit;

static Numeric
add(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

static Numeric
subtract(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_sub, NumericGetDatum(a), NumericGetDatum(b)));
}

static int
compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a), NumericGetDatum(b)));
}

/* The grant that is spent first is the greatest. */
static int
compare_grants(Datum a, Datum b, void *arg)
{
	const Grant *left = (const Grant *) DatumGetPointer(a);
	const Grant *right = (const Grant *) DatumGetPointer(b);

	if (left->expires_at != right->expires_at)
		return left->expires_at < right->expires_at ? 1 : -1;
	if (left->grant_id != right->grant_id)
		return left->grant_id < right->grant_id ? 1 : -1;
	return 0;
}

/* By the instant that is at an offset in both grants. */
static int
compare_instants(const void *a, const void *b, void *offset)
{
	TimestampTz left = *(const TimestampTz *) (*(const char *const *) a + *(Size *) offset);
	TimestampTz right = *(const TimestampTz *) (*(const char *const *) b + *(Size *) offset);

	return (left > right) - (left < right);
}

/* The elements of an array argument without nulls, of the length of the first of its kind. */
static Datum *
elements(FunctionCallInfo fcinfo, int argument, Oid type, int16 length, bool by_value, int *count)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argument);
	Datum	   *values;
	int			found;

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array) || ARR_ELEMTYPE(array) != type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays of grants must have one dimension and no nulls")));
	deconstruct_array(array, type, length, by_value, length == -1 ? TYPALIGN_INT : TYPALIGN_DOUBLE,
					  &values, NULL, &found);
	if (*count >= 0 && found != *count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays of grants must be of one length")));
	*count = found;
	return values;
}

static void
read_credit(FunctionCallInfo fcinfo, Credit *credit)
{
	Size		begins = offsetof(Grant, begins_at);
	Size		leaves = offsetof(Grant, leaves_at);
	int			count = -1;
	Datum	   *grant_ids = elements(fcinfo, ARGUMENT_GRANT_IDS, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, &count);
	Datum	   *amounts = elements(fcinfo, ARGUMENT_AMOUNTS, NUMERICOID, -1, false, &count);
	Datum	   *begin = elements(fcinfo, ARGUMENT_BEGIN, TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, &count);
	Datum	   *expire = elements(fcinfo, ARGUMENT_EXPIRE, TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, &count);
	Datum	   *leave = elements(fcinfo, ARGUMENT_LEAVE, TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, &count);

	memset(credit, 0, sizeof(*credit));
	credit->count = count;
	credit->grants = palloc0(sizeof(Grant) * (count + 1));
	credit->by_begin = palloc(sizeof(Grant *) * (count + 1));
	credit->by_leave = palloc(sizeof(Grant *) * (count + 1));
	for (int i = 0; i < count; i++)
	{
		Grant	   *grant = &credit->grants[i];

		grant->grant_id = DatumGetInt64(grant_ids[i]);
		grant->amount = grant->rest = DatumGetNumeric(amounts[i]);
		grant->begins_at = DatumGetTimestampTz(begin[i]);
		grant->expires_at = DatumGetTimestampTz(expire[i]);
		grant->leaves_at = DatumGetTimestampTz(leave[i]);
		credit->by_begin[i] = credit->by_leave[i] = grant;
	}
	qsort_arg(credit->by_begin, count, sizeof(Grant *), compare_instants, &begins);
	qsort_arg(credit->by_leave, count, sizeof(Grant *), compare_instants, &leaves);
	credit->valid = binaryheap_allocate(count + 1, compare_grants, NULL);
	credit->zero = credit->owed = int64_to_numeric(0);
}

/* The grant that is spent next; NULL when there is none. */
static Grant *
next_grant(Credit *credit)
{
	while (!binaryheap_empty(credit->valid))
	{
		Grant	   *grant = (Grant *) DatumGetPointer(binaryheap_first(credit->valid));

		if (!grant->has_left)
			return grant;
		(void) binaryheap_remove_first(credit->valid);
	}
	return NULL;
}

/* Pay owed spending from the grants that can be spent. */
static void
pay(Credit *credit)
{
	Grant	   *grant;

	while (compare(credit->owed, credit->zero) > 0 && (grant = next_grant(credit)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare(grant->rest, credit->owed) > 0)
		{
			grant->rest = subtract(grant->rest, credit->owed);
			credit->owed = credit->zero;
			return;
		}
		credit->owed = subtract(credit->owed, grant->rest);
		grant->rest = credit->zero;
		(void) binaryheap_remove_first(credit->valid);
	}
}

static void
expire_grants(Credit *credit, TimestampTz instant)
{
	Grant	   *grant;

	while ((grant = next_grant(credit)) != NULL && grant->expires_at <= instant)
	{
		CHECK_FOR_INTERRUPTS();
		(void) binaryheap_remove_first(credit->valid);
	}
}

/* Spending that a leaving grant had paid is owed again. */
static void
leave_grants(Credit *credit, TimestampTz instant)
{
	for (; credit->left < credit->count && credit->by_leave[credit->left]->leaves_at <= instant; credit->left++)
	{
		Grant	   *grant = credit->by_leave[credit->left];

		CHECK_FOR_INTERRUPTS();
		grant->has_left = true;
		if (!grant->has_begun)
			continue;
		credit->owed = add(credit->owed, compare(grant->amount, credit->zero) < 0 ? grant->amount :
						   subtract(grant->amount, grant->rest));
	}
}

static void
begin_grants(Credit *credit, TimestampTz instant)
{
	for (; credit->begun < credit->count && credit->by_begin[credit->begun]->begins_at <= instant; credit->begun++)
	{
		Grant	   *grant = credit->by_begin[credit->begun];
		int			sign = compare(grant->amount, credit->zero);

		CHECK_FOR_INTERRUPTS();
		if (grant->has_left)
			continue;
		grant->has_begun = true;
		if (sign < 0)
			credit->owed = subtract(credit->owed, grant->amount);
		else if (sign > 0 && grant->expires_at > instant)
			binaryheap_add(credit->valid, PointerGetDatum(grant));
	}
}

static void
put_outcome(ReturnSetInfo *result, const Credit *credit, const Grant *grant, TimestampTz until)
{
	Datum		values[OUTCOME_COLUMNS] = {0};
	bool		nulls[OUTCOME_COLUMNS] = {0};
	int			other = grant->expires_at <= until ? OUTCOME_REST : OUTCOME_LOST;

	if (!grant->has_begun || grant->has_left || compare(grant->amount, credit->zero) <= 0)
		return;
	values[OUTCOME_GRANT_ID] = Int64GetDatum(grant->grant_id);
	values[OUTCOME_REST] = values[OUTCOME_LOST] = NumericGetDatum(grant->rest);
	nulls[other] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * spend_grants(grant_ids, amounts, begins, expires, leaves, instants, spent):
 * spending until each instant, in ascending order, is paid by the grants that
 * could be spent before it.
 */
Datum
yq_sql_spend_grants(PG_FUNCTION_ARGS)
{
	Credit		credit;
	int			count = -1;
	Datum	   *instants = elements(fcinfo, ARGUMENT_INSTANTS, TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, &count);
	Datum	   *spent = elements(fcinfo, ARGUMENT_SPENT, NUMERICOID, -1, false, &count);
	Numeric		spent_before;

	InitMaterializedSRF(fcinfo, 0);
	if (count == 0)
		return (Datum) 0;
	read_credit(fcinfo, &credit);
	spent_before = credit.zero;
	for (int i = 0; i < count; i++)
	{
		TimestampTz instant = DatumGetTimestampTz(instants[i]);

		credit.owed = add(credit.owed, subtract(DatumGetNumeric(spent[i]), spent_before));
		spent_before = DatumGetNumeric(spent[i]);
		pay(&credit);
		expire_grants(&credit, instant);
		leave_grants(&credit, instant);
		begin_grants(&credit, instant);
	}
	/* grants that have begun last pay owed spending */
	pay(&credit);
	for (int i = 0; i < credit.count; i++)
		put_outcome((ReturnSetInfo *) fcinfo->resultinfo, &credit, &credit.grants[i],
					DatumGetTimestampTz(instants[count - 1]));
	return (Datum) 0;
}

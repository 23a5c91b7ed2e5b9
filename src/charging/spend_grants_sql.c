/*-------------------------------------------------------------------------
 *
 * spend_grants_sql.c
 *	  Remaining amounts of the grants of a project, and losses of expired grants.
 *
 * A heap holds the grants that can be spent.  The grant that expires first is on top, because it
 * also pays first.  A grant leaves the heap when it is used up, expires or goes to another project.
 * It comes back when credit returns to it.  The function therefore takes as long as sorting all
 * grants and returns.
 *
 * Grants pay for negative rows as they pay for spending, but spending is paid first.  The amount
 * that a row took from each grant is kept, because the row may go to another project.  The credit
 * then returns to its grants, and is lost where a grant has expired.  A negative row of a transfer
 * names a grant, and takes from that grant first.
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
	ARGUMENT_TAKES_FROM,
	ARGUMENT_INSTANTS,
	ARGUMENT_SPENT
};

/* Columns of the result */
enum
{
	OUTCOME_GRANT_ID,
	OUTCOME_REST,
	OUTCOME_LOST,
	OUTCOME_RETURNED,
	OUTCOME_MOVED,
	OUTCOME_TAKEN,
	OUTCOME_COLUMNS
};

typedef struct Grant
{
	int64		grant_id;
	Numeric		amount;			/* a negative amount takes credit back */
	TimestampTz begins_at;
	TimestampTz expires_at;
	TimestampTz leaves_at;		/* time at which the grant moves to the credit of another project */
	bool		has_begun;
	bool		has_left;
	bool		in_heap;
	Numeric		rest;			/* remaining amount; in a negative row: amount that it has not taken yet */
	Numeric		unspent;		/* amount paid to a negative row because spending was below zero */
	Numeric		returned;		/* credit that came back after expiry; in a negative row: credit that it gave back */
	struct Taking *takings;		/* amounts that a negative row has taken, or that were taken from a grant */
	int64		takes_from;		/* grant_id of the grant from which a negative row takes first, or 0 */
} Grant;

/* The credit that a negative row has taken from one grant.  Both rows have it in their lists. */
typedef struct Taking
{
	Grant	   *row;
	Grant	   *grant;
	Numeric		amount;			/* credit taken; zero after it has been returned */
	struct Taking *next_of_row;
	struct Taking *next_of_grant;
} Taking;

typedef struct Credit
{
	int			count;
	Grant	   *grants;
	Grant	  **by_begin;		/* all grants in the order of begins_at */
	Grant	  **by_leave;		/* all grants in the order of leaves_at */
	Grant	  **by_id;			/* all grants in the order of grant_id; NULL until a negative row names a grant */
	int			begun;			/* number of grants in by_begin that have begun */
	int			left;			/* number of grants in by_leave that have left */
	binaryheap *valid;			/* grants that can be spent; may contain grants that have left since they were added */
	binaryheap *unpaid;			/* negative rows with an amount to take; may include rows that left */
	Numeric		zero;
	Numeric		owed;			/* spending that no grant has paid yet; negative if spending is below zero */
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

/* Compare grants.  The grant that is spent first is the greatest. */
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

/* Compare negative rows.  The row that is paid first is the greatest. */
static int
compare_rows(Datum a, Datum b, void *arg)
{
	const Grant *left = (const Grant *) DatumGetPointer(a);
	const Grant *right = (const Grant *) DatumGetPointer(b);

	if (left->begins_at != right->begins_at)
		return left->begins_at < right->begins_at ? 1 : -1;
	if (left->grant_id != right->grant_id)
		return left->grant_id < right->grant_id ? 1 : -1;
	return 0;
}

/* Compare two grants by an instant.  The argument is the offset of the instant in a Grant. */
static int
compare_instants(const void *a, const void *b, void *offset)
{
	TimestampTz left = *(const TimestampTz *) (*(const char *const *) a + *(Size *) offset);
	TimestampTz right = *(const TimestampTz *) (*(const char *const *) b + *(Size *) offset);

	return (left > right) - (left < right);
}

static int
compare_ids(const void *a, const void *b)
{
	int64		left = (*(const Grant *const *) a)->grant_id;
	int64		right = (*(const Grant *const *) b)->grant_id;

	return (left > right) - (left < right);
}

/*
 * Return the elements of an array argument, which must not contain nulls.  All arrays must have as
 * many elements as the first one.
 */
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
				 errmsg("arrays of grants must have the same length")));
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
	Datum	   *takes_from = elements(fcinfo, ARGUMENT_TAKES_FROM, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, &count);

	memset(credit, 0, sizeof(*credit));
	credit->count = count;
	credit->zero = credit->owed = int64_to_numeric(0);
	credit->grants = palloc0(sizeof(Grant) * (count + 1));
	credit->by_begin = palloc(sizeof(Grant *) * (count + 1));
	credit->by_leave = palloc(sizeof(Grant *) * (count + 1));
	for (int i = 0; i < count; i++)
	{
		Grant	   *grant = &credit->grants[i];

		grant->grant_id = DatumGetInt64(grant_ids[i]);
		grant->amount = DatumGetNumeric(amounts[i]);
		grant->rest = compare(grant->amount, credit->zero) < 0 ? subtract(credit->zero, grant->amount) : grant->amount;
		grant->unspent = grant->returned = credit->zero;
		grant->begins_at = DatumGetTimestampTz(begin[i]);
		grant->expires_at = DatumGetTimestampTz(expire[i]);
		grant->leaves_at = DatumGetTimestampTz(leave[i]);
		grant->takes_from = DatumGetInt64(takes_from[i]);
		credit->by_begin[i] = credit->by_leave[i] = grant;
	}
	qsort_arg(credit->by_begin, count, sizeof(Grant *), compare_instants, &begins);
	qsort_arg(credit->by_leave, count, sizeof(Grant *), compare_instants, &leaves);
	credit->valid = binaryheap_allocate(count + 1, compare_grants, NULL);
	credit->unpaid = binaryheap_allocate(count + 1, compare_rows, NULL);
}

static void
enter(binaryheap *heap, Grant *grant)
{
	if (!grant->in_heap)
		binaryheap_add(heap, PointerGetDatum(grant));
	grant->in_heap = true;
}

static void
remove_first(binaryheap *heap)
{
	((Grant *) DatumGetPointer(binaryheap_remove_first(heap)))->in_heap = false;
}

/* Return the first grant of a heap that has not left, or NULL when there is none. */
static Grant *
first_present(binaryheap *heap)
{
	while (!binaryheap_empty(heap))
	{
		Grant	   *grant = (Grant *) DatumGetPointer(binaryheap_first(heap));

		if (!grant->has_left)
			return grant;
		remove_first(heap);
	}
	return NULL;
}

static void
note_taking(Grant *row, Grant *grant, Numeric amount)
{
	Taking	   *taking = palloc(sizeof(Taking));

	taking->row = row;
	taking->grant = grant;
	taking->amount = amount;
	taking->next_of_row = row->takings;
	taking->next_of_grant = grant->takings;
	row->takings = grant->takings = taking;
}

/*
 * Take a debt from the grants that can be spent.  "row" is the negative row that has the debt, or
 * NULL for spending.  Returns the remaining debt.
 */
static Numeric
take(Credit *credit, Numeric debt, Grant *row)
{
	Grant	   *grant;

	while (compare(debt, credit->zero) > 0 && (grant = first_present(credit->valid)) != NULL)
	{
		Numeric		part = compare(grant->rest, debt) > 0 ? debt : grant->rest;

		CHECK_FOR_INTERRUPTS();
		debt = subtract(debt, part);
		grant->rest = subtract(grant->rest, part);
		if (row != NULL)
			note_taking(row, grant, part);
		if (compare(grant->rest, credit->zero) == 0)
			remove_first(credit->valid);
	}
	return debt;
}

/* Pay spending first, then the negative rows in the order in which they began. */
static void
pay(Credit *credit)
{
	Grant	   *row;

	credit->owed = take(credit, credit->owed, NULL);
	while ((row = first_present(credit->unpaid)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare(credit->owed, credit->zero) < 0)
		{
			Numeric		left = subtract(credit->zero, credit->owed);
			Numeric		part = compare(row->rest, left) > 0 ? left : row->rest;

			credit->owed = add(credit->owed, part);
			row->rest = subtract(row->rest, part);
			row->unspent = add(row->unspent, part);
		}
		row->rest = take(credit, row->rest, row);
		if (compare(row->rest, credit->zero) > 0)
			return;
		remove_first(credit->unpaid);
	}
}

static void
expire_grants(Credit *credit, TimestampTz instant)
{
	Grant	   *grant;

	while ((grant = first_present(credit->valid)) != NULL && grant->expires_at <= instant)
	{
		CHECK_FOR_INTERRUPTS();
		remove_first(credit->valid);
	}
}

/*
 * Return the credit of a negative row that leaves to the grants from which it was taken.  The
 * credit can then be spent, or is lost if the grant has expired.
 */
static void
return_takings(Credit *credit, Grant *row, TimestampTz instant)
{
	credit->owed = subtract(credit->owed, row->unspent);
	for (Taking *taking = row->takings; taking != NULL; taking = taking->next_of_row)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare(taking->amount, credit->zero) == 0)
			continue;
		if (taking->grant->expires_at <= instant)
		{
			row->returned = add(row->returned, taking->amount);
			taking->grant->returned = add(taking->grant->returned, taking->amount);
		}
		else
		{
			taking->grant->rest = add(taking->grant->rest, taking->amount);
			enter(credit->valid, taking->grant);
		}
		taking->amount = credit->zero;
	}
}

/* Turn the payments of a leaving grant into debt again, either of negative rows or of spending. */
static void
reclaim_payments(Credit *credit, Grant *grant)
{
	Numeric		paid = subtract(grant->amount, grant->rest);

	for (Taking *taking = grant->takings; taking != NULL; taking = taking->next_of_grant)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare(taking->amount, credit->zero) == 0)
			continue;
		paid = subtract(paid, taking->amount);
		taking->row->rest = add(taking->row->rest, taking->amount);
		enter(credit->unpaid, taking->row);
		taking->amount = credit->zero;
	}
	credit->owed = add(credit->owed, paid);
}

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
		if (compare(grant->amount, credit->zero) < 0)
			return_takings(credit, grant, instant);
		else
			reclaim_payments(credit, grant);
	}
}

static Grant *
find_grant(Credit *credit, int64 grant_id)
{
	Grant		key = {.grant_id = grant_id};
	Grant	   *wanted = &key;
	Grant	  **found;

	if (credit->by_id == NULL)
	{
		credit->by_id = palloc(sizeof(Grant *) * credit->count);
		memcpy(credit->by_id, credit->by_begin, sizeof(Grant *) * credit->count);
		qsort(credit->by_id, credit->count, sizeof(Grant *), compare_ids);
	}
	found = bsearch(&wanted, credit->by_id, credit->count, sizeof(Grant *), compare_ids);
	return found == NULL ? NULL : *found;
}

/* Take the amount of a negative row from the grant that it names, as far as this grant can be spent. */
static void
take_named(Credit *credit, Grant *row)
{
	Grant	   *grant = find_grant(credit, row->takes_from);
	Numeric		part;

	if (grant == NULL || !grant->in_heap || grant->has_left || compare(grant->amount, credit->zero) < 0)
		return;
	part = compare(grant->rest, row->rest) > 0 ? row->rest : grant->rest;
	row->rest = subtract(row->rest, part);
	grant->rest = subtract(grant->rest, part);
	note_taking(row, grant, part);
}

static void
begin_grants(Credit *credit, TimestampTz instant)
{
	int			first = credit->begun;

	for (; credit->begun < credit->count && credit->by_begin[credit->begun]->begins_at <= instant; credit->begun++)
	{
		Grant	   *grant = credit->by_begin[credit->begun];
		int			sign = compare(grant->amount, credit->zero);

		CHECK_FOR_INTERRUPTS();
		if (grant->has_left)
			continue;
		grant->has_begun = true;
		if (sign < 0)
			enter(credit->unpaid, grant);
		else if (sign > 0 && grant->expires_at > instant)
			enter(credit->valid, grant);
	}
	/* the named grant may have begun at the same instant */
	for (int i = first; i < credit->begun; i++)
	{
		Grant	   *row = credit->by_begin[i];

		if (row->has_begun && row->takes_from != 0 && compare(row->amount, credit->zero) < 0)
			take_named(credit, row);
	}
}

/* Return the credit that negative rows, or only rows of transfers, have taken from a grant. */
static Numeric
taken_part(const Credit *credit, const Grant *grant, bool by_transfers)
{
	Numeric		taken = credit->zero;

	for (Taking *taking = grant->takings; taking != NULL; taking = taking->next_of_grant)
	{
		CHECK_FOR_INTERRUPTS();
		if (!by_transfers || taking->row->takes_from != 0)
			taken = add(taken, taking->amount);
	}
	return taken;
}

static void
put_outcome(ReturnSetInfo *result, const Credit *credit, const Grant *grant, TimestampTz until)
{
	Datum		values[OUTCOME_COLUMNS] = {0};
	bool		nulls[OUTCOME_COLUMNS] = {0};
	bool		is_negative = compare(grant->amount, credit->zero) < 0;
	int			other = is_negative || grant->expires_at <= until ? OUTCOME_REST : OUTCOME_LOST;

	/* a grant has a result until it leaves; a negative row has a result only after it has left */
	if (!grant->has_begun || grant->has_left != is_negative || compare(grant->amount, credit->zero) == 0)
		return;
	values[OUTCOME_GRANT_ID] = Int64GetDatum(grant->grant_id);
	values[OUTCOME_REST] = values[OUTCOME_LOST] = NumericGetDatum(is_negative ? grant->returned : grant->rest);
	values[OUTCOME_RETURNED] = NumericGetDatum(is_negative ? credit->zero : grant->returned);
	values[OUTCOME_MOVED] = NumericGetDatum(is_negative ? credit->zero : taken_part(credit, grant, true));
	values[OUTCOME_TAKEN] = NumericGetDatum(is_negative ? credit->zero : taken_part(credit, grant, false));
	nulls[other] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * spend_grants(grant_ids, amounts, begins, expires, leaves, takes_from, instants, spent)
 *
 * "instants" are in ascending order.  The spending until each instant is paid by the grants that
 * can be spent before it.
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
	/* pay the rest of the spending from the grants that begin at the last instant */
	pay(&credit);
	for (int i = 0; i < credit.count; i++)
		put_outcome((ReturnSetInfo *) fcinfo->resultinfo, &credit, &credit.grants[i],
					DatumGetTimestampTz(instants[count - 1]));
	return (Datum) 0;
}

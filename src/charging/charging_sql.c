/*-------------------------------------------------------------------------
 *
 * charging_sql.c
 *	  Settling again after prices changed, as an SQL function.
 *
 * Which containers are concerned is a question for SQL; settling one again is
 * the rule of settle.h.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "charging/settle.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(yq_sql_settle_again);

/* There are no events here that could be bad. */
static void
no_bad_events(void *argument, const YqEvent *event, const YqProblem *problem)
{
	elog(ERROR, "unexpected bad event: %s", problem->message);
}

/*
 * settle_again(container_ids text[]) returns bigint: bring the books of these
 * containers, in ascending order of id, in line with the present timelines;
 * returns how many had to be corrected.
 */
Datum
yq_sql_settle_again(PG_FUNCTION_ARGS)
{
	ArrayType  *ids = PG_GETARG_ARRAYTYPE_P(0);
	YqBooks    *books = yq_books_open();
	YqSettler  *settler = yq_settler_create(books, no_bad_events, NULL);
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	int64		corrected = 0;

	deconstruct_array(ids, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i] && yq_settle_again(settler, DatumGetTextPP(elements[i])))
			corrected++;
	}
	yq_settler_finish(settler);
	yq_books_close(books);
	PG_RETURN_INT64(corrected);
}

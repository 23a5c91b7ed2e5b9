/*-------------------------------------------------------------------------
 *
 * charging_sql.c
 *	  Settling again after prices changed, and voiding, as SQL functions.
 *
 * Which containers are concerned is a question for SQL; what is done with one
 * is the rule of settle.h.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "charging/settle.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "store/role_scope.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_settle_again);
PG_FUNCTION_INFO_V1(yq_sql_void_containers);

/* Columns of void_containers(). */
enum
{
	VOIDED_CONTAINER_ID,
	VOIDED_PROJECT,
	VOIDED_APPLICATION_ID,
	VOIDED_AMOUNT,
	VOIDED_WAS_RUNNING,
	VOIDED_CHARGES,
	VOIDED_COLUMNS
};

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

static void
return_voided(ReturnSetInfo *result, Datum container_id, const YqVoided *voided)
{
	Datum		values[VOIDED_COLUMNS];
	bool		nulls[VOIDED_COLUMNS] = {false};

	values[VOIDED_CONTAINER_ID] = container_id;
	values[VOIDED_PROJECT] = PointerGetDatum(voided->project);
	values[VOIDED_APPLICATION_ID] = PointerGetDatum(voided->application_id);
	nulls[VOIDED_APPLICATION_ID] = (voided->application_id == NULL);
	values[VOIDED_AMOUNT] = NumericGetDatum(yq_wide_to_numeric(&voided->amount));
	values[VOIDED_WAS_RUNNING] = BoolGetDatum(voided->was_running);
	values[VOIDED_CHARGES] = Int32GetDatum(voided->charges);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * void_containers(container_ids text[]): take back all that the books say of
 * these containers, in ascending order of id; a row for each of which they
 * said anything.
 */
Datum
yq_sql_void_containers(PG_FUNCTION_ARGS)
{
	ArrayType  *ids = PG_GETARG_ARRAYTYPE_P(0);
	YqBooks    *books;
	YqSettler  *settler;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	yq_check_attributable("event_void");
	InitMaterializedSRF(fcinfo, 0);
	books = yq_books_open();
	settler = yq_settler_create(books, no_bad_events, NULL);
	deconstruct_array(ids, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		YqVoided	voided;

		CHECK_FOR_INTERRUPTS();
		if (!nulls[i] && yq_settle_void(settler, DatumGetTextPP(elements[i]), &voided))
			return_voided((ReturnSetInfo *) fcinfo->resultinfo, elements[i], &voided);
	}
	yq_settler_finish(settler);
	yq_books_close(books);
	return (Datum) 0;
}

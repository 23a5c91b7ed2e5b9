/*-------------------------------------------------------------------------
 *
 * terms_sql.c
 *	  A query that is answered as if prices had been others.
 *
 * Prices are read from tables, or from rows that take their place while one
 * query runs.  Nothing is written, and no other session sees the rows or waits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_cost_under_terms);

/* Arguments of cost_under_terms() */
enum
{
	ARGUMENT_QUERY,
	ARGUMENT_BASE_PRICES,
	ARGUMENT_MULTIPLIERS,
	ARGUMENT_FACTORS,
	ARGUMENT_FROM,
	ARGUMENT_TO,
	ARGUMENT_PROJECT
};

static ArrayType *
rows_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : PG_GETARG_ARRAYTYPE_P(argument);
}

/* Run the query with the parameters from, to and project. */
static void
run_query(FunctionCallInfo fcinfo, const char *query)
{
	Oid			types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID};
	Datum		values[] = {PG_GETARG_DATUM(ARGUMENT_FROM), PG_GETARG_DATUM(ARGUMENT_TO),
	PG_GETARG_DATUM(ARGUMENT_PROJECT)};
	char		nulls[] = {' ', ' ', PG_ARGISNULL(ARGUMENT_PROJECT) ? 'n' : ' ', '\0'};

	if (SPI_execute_with_args(query, lengthof(types), types, values, nulls, true, 0) != SPI_OK_SELECT ||
		SPI_tuptable->tupdesc->natts != 2 ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) != TEXTOID ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 2) != NUMERICOID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return a text and a numeric")));
}

static void
put_rows(ReturnSetInfo *result)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[2];
		bool		nulls[2];

		for (int column = 0; column < 2; column++)
			values[column] = SPI_getbinval(SPI_tuptable->vals[i], desc, column + 1, &nulls[column]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/*
 * cost_under_terms(query, base_prices, multipliers, factors, from, to,
 * project): the rows of a query of two columns, project and amount.  Not
 * strict: terms that are NULL are those of the tables.
 */
Datum
yq_sql_cost_under_terms(PG_FUNCTION_ARGS)
{
	YqTerms		terms = {
		.base_prices = rows_argument(fcinfo, ARGUMENT_BASE_PRICES),
		.multipliers = rows_argument(fcinfo, ARGUMENT_MULTIPLIERS),
		.factors = rows_argument(fcinfo, ARGUMENT_FACTORS),
	};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARGUMENT_QUERY) || PG_ARGISNULL(ARGUMENT_FROM) || PG_ARGISNULL(ARGUMENT_TO))
		return (Datum) 0;
	terms.from = PG_GETARG_TIMESTAMPTZ(ARGUMENT_FROM);
	SPI_connect();
	yq_timeline_assume(&terms);
	PG_TRY();
	{
		run_query(fcinfo, text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_QUERY)));
	}
	PG_FINALLY();
	{
		yq_timeline_assume(NULL);
	}
	PG_END_TRY();
	put_rows((ReturnSetInfo *) fcinfo->resultinfo);
	SPI_finish();
	return (Datum) 0;
}

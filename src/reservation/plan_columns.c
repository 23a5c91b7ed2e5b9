/*-------------------------------------------------------------------------
 *
 * plan_columns.c
 *	  Shows a plan over time in columns of equal width, for pictures: see
 *	  sql/reservation/605_reservation_plan.sql.
 *
 * A column contains the average and the highest of the amounts in its time.  Because of the
 * averages, shares in a picture add up.  The reservations with the largest shares of the plan each
 * have their own place; all other reservations together have one place.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "admission/configuration/config_refresh.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "reservation/load_plan.h"
#include "reservation/reservation_definition.h"
#include "store/clock.h"
#include "utils/array.h"

PG_FUNCTION_INFO_V1(yq_sql_plan_columns);

#define MOST_COLUMNS 2000
#define MOST_PLACES 100

/* The reservation's fraction of the plan's capacity, summed over the milliseconds of the picture. */
typedef struct Share
{
	const YqPlanReservation *reservation;
	double		part;
} Share;

/* The data for a picture of a plan.  Place 0 is the whole plan. */
typedef struct Picture
{
	const YqHierarchy *hierarchy;
	const YqPlan *plan;
	int64		start;
	int64		end;
	int			columns;
	int			places;			/* number of places after place 0 */
	Share	   *shares;			/* shares of all reservations, the largest first */
	int			count;
	double	   *amounts;		/* amounts times milliseconds, by place, resource type and column */
	int64	   *highest;		/* highest amount, by resource type and column */
} Picture;

typedef void (*StepVisitor) (Picture *picture, int place, int64 start, int64 end, const int64 *amounts);

/* Call the visitor for each step that has nonzero amounts and touches the time of the picture. */
static void
visit_steps(Picture *picture, int place, const YqStepFunction *function, StepVisitor visit)
{
	for (int i = 0; i < function->count; i++)
	{
		int64		start = Max(function->times[i], picture->start);
		int64		end = Min(i + 1 < function->count ? function->times[i + 1] : picture->end, picture->end);
		const int64 *amounts = yq_step_amounts(function, i);

		CHECK_FOR_INTERRUPTS();
		if (start < end && function->is_defined[i] && !yq_amounts_are_none(picture->plan->calculator, amounts))
			visit(picture, place, start, end, amounts);
	}
}

/* -- columns ----------------------------------------------------------------------- */

static int64
column_start(const Picture *picture, int column)
{
	int64		length = picture->end - picture->start;

	return picture->start + length / picture->columns * column + length % picture->columns * column / picture->columns;
}

static int
column_at(const Picture *picture, int64 time)
{
	int			first = 0;
	int			after = picture->columns;

	while (after - first > 1)
	{
		int			middle = (first + after) / 2;

		if (column_start(picture, middle) <= time)
			first = middle;
		else
			after = middle;
	}
	return first;
}

static double *
amount_of(const Picture *picture, int place, int type, int column)
{
	return &picture->amounts[((Size) place * picture->hierarchy->calculator.types + type) * picture->columns + column];
}

static void
add_to_columns(Picture *picture, int place, int64 start, int64 end, const int64 *amounts)
{
	for (int column = column_at(picture, start); column < picture->columns && column_start(picture, column) < end; column++)
	{
		int64		length = Min(end, column_start(picture, column + 1)) - Max(start, column_start(picture, column));

		for (int type = 0; type < picture->hierarchy->calculator.types; type++)
		{
			int64	   *highest = &picture->highest[(Size) type * picture->columns + column];

			*amount_of(picture, place, type, column) += (double) amounts[type] * length;
			if (place == 0)
				*highest = Max(*highest, amounts[type]);
		}
	}
}

/* -- places ------------------------------------------------------------------------- */

static void
add_to_share(Picture *picture, int place, int64 start, int64 end, const int64 *amounts)
{
	picture->shares[place].part += (double) yq_amounts_ratio(picture->plan->calculator, amounts, picture->plan->capacity) * (end - start);
}

static int
compare_shares(const void *a, const void *b)
{
	const Share *first = a;
	const Share *second = b;
	const YqReservationId *first_id = &first->reservation->id;
	const YqReservationId *second_id = &second->reservation->id;

	if (first->part != second->part)
		return first->part > second->part ? -1 : 1;
	if (first_id->cluster_timestamp != second_id->cluster_timestamp)
		return first_id->cluster_timestamp < second_id->cluster_timestamp ? -1 : 1;
	return first_id->number < second_id->number ? -1 : first_id->number > second_id->number;
}

/* Sort the reservations that have amounts in the picture by their shares of the plan. */
static void
rank_reservations(Picture *picture)
{
	const YqPlan *plan = picture->plan;
	int			count = 0;

	picture->shares = palloc_extended(sizeof(Share) * Max(plan->count, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < plan->count; i++)
	{
		YqStepFunction *steps = yq_steps_range(plan->reservations[i]->over_time, picture->start, picture->end);

		picture->shares[count] = (Share) {plan->reservations[i], 0};
		visit_steps(picture, count, steps, add_to_share);
		yq_steps_free(steps);
		if (picture->shares[count].part > 0)
			count++;
	}
	picture->count = count;
	qsort(picture->shares, count, sizeof(Share), compare_shares);
}

/*
 * Fill the places after place 0.  If there are more reservations than places, the last
 * place contains the sum of the remaining reservations.
 */
static void
fill_places(Picture *picture)
{
	for (int i = 0; i < picture->count; i++)
	{
		YqStepFunction *steps = yq_steps_range(picture->shares[i].reservation->over_time, picture->start, picture->end);

		visit_steps(picture, Min(i + 1, picture->places), steps, add_to_columns);
		yq_steps_free(steps);
	}
	visit_steps(picture, 0, yq_plan_committed(picture->plan, picture->start, picture->end), add_to_columns);
}

static void
draw(Picture *picture)
{
	Size		types = picture->hierarchy->calculator.types;

	rank_reservations(picture);
	picture->places = Min(picture->places, picture->count);
	picture->amounts = palloc0(sizeof(double) * (picture->places + 1) * types * picture->columns);
	picture->highest = palloc0(sizeof(int64) * types * picture->columns);
	fill_places(picture);
}

/* -- rows --------------------------------------------------------------------------- */

/* Return the average amounts of a place, one for each column. */
static Datum
amounts_array(const Picture *picture, int place, int type)
{
	Datum	   *values = palloc(sizeof(Datum) * picture->columns);

	for (int column = 0; column < picture->columns; column++)
		values[column] = Float8GetDatum(*amount_of(picture, place, type, column) /
										(column_start(picture, column + 1) - column_start(picture, column)));
	return PointerGetDatum(construct_array(values, picture->columns, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static Datum
highest_array(const Picture *picture, int type)
{
	Datum	   *values = palloc(sizeof(Datum) * picture->columns);

	for (int column = 0; column < picture->columns; column++)
		values[column] = Int64GetDatum(picture->highest[(Size) type * picture->columns + column]);
	return PointerGetDatum(construct_array(values, picture->columns, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static bool
has_type(const Picture *picture, int type)
{
	for (int column = 0; column < picture->columns; column++)
	{
		if (picture->highest[(Size) type * picture->columns + column] > 0)
			return true;
	}
	return picture->plan->capacity[type] > 0;
}

/* Return the number of reservations in a place, and set the sum of their shares of the plan. */
static int
count_place(const Picture *picture, int place, double *part)
{
	int			first = place == 0 ? 0 : place - 1;
	int			last = place == 0 || place == picture->places ? picture->count - 1 : first;

	*part = 0;
	for (int i = first; i <= last; i++)
		*part += picture->shares[i].part / (picture->end - picture->start);
	return last - first + 1;
}

static void
put_place(ReturnSetInfo *result, const Picture *picture, int place)
{
	double		part;
	int			count = count_place(picture, place, &part);

	for (int type = 0; type < picture->hierarchy->calculator.types; type++)
	{
		YqRowBuilder row = {.count = 0};

		if (!has_type(picture, type))
			continue;
		yq_row_put(&row, Int32GetDatum(place), false);
		yq_row_put_text(&row, place == 0 || count > 1 ? NULL : yq_reservation_id_text(picture->shares[place - 1].reservation->id));
		yq_row_put(&row, Int32GetDatum(count), false);
		yq_row_put(&row, Float8GetDatum(part), !isfinite(part));
		yq_row_put_text(&row, picture->hierarchy->type_names[type]);
		yq_row_put(&row, Int64GetDatum(picture->plan->capacity[type]), false);
		yq_row_put(&row, amounts_array(picture, place, type), false);
		yq_row_put(&row, place == 0 ? highest_array(picture, type) : (Datum) 0, place > 0);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
}

/* Read a count, which must be between 1 and a limit. */
static int
count_argument(FunctionCallInfo fcinfo, int argument, const char *name, int most)
{
	int			count;

	yq_require_value(PG_ARGISNULL(argument), name);
	count = PG_GETARG_INT32(argument);
	if (count < 1 || count > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, most)));
	return count;
}

/* plan_columns(queue, from, to, columns, places) */
Datum
yq_sql_plan_columns(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	Picture		picture = {.hierarchy = yq_hierarchy_in_force()};
	const YqQueue *queue = yq_plan_queue(picture.hierarchy, name);
	YqReservationSettings settings = yq_reservation_settings(queue->path);
	YqPlan	   *plan = yq_plan_load(picture.hierarchy, queue, &settings);
	TimestampTz now = yq_clock_statement();

	yq_plan_window_arguments(fcinfo, 1, 2, &settings, &picture.start, &picture.end);
	if (picture.start == picture.end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"to\" is not after \"from\"")));
	picture.columns = (int) Min(count_argument(fcinfo, 3, "columns", MOST_COLUMNS), picture.end - picture.start);
	picture.places = count_argument(fcinfo, 4, "places", MOST_PLACES);
	InitMaterializedSRF(fcinfo, 0);
	yq_plan_load_reservations(plan, picture.hierarchy, queue->path, picture.start, picture.end,
							  yq_plan_archived_until(&settings, yq_reservation_time(now - now % 1000, "now")));
	yq_plan_check_length(plan, picture.start, picture.end);
	picture.plan = plan;
	draw(&picture);
	for (int place = 0; place <= picture.places; place++)
		put_place((ReturnSetInfo *) fcinfo->resultinfo, &picture, place);
	PG_RETURN_NULL();
}

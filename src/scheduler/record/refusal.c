/*-------------------------------------------------------------------------
 *
 * refusal.c
 *	  Containers, applications and plans (subjects) that rounds of the scheduler leave out
 *	  because their rows cannot be written, and counts for metrics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "scheduler/record/refusal.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* -- scheduler count ----------------------------------------------------------- */

/* Counts events of the scheduler for metrics. */

/* Name of the count of subjects that rounds left out because they could not be written. */
#define YQ_COUNT_REFUSED "refused"

void
yq_scheduler_count_add(const char *name, int64 number)
{
	static YqSavedPlan add = {
		.command = "INSERT INTO yquota_internal.scheduler_count AS c (name, part, total) VALUES ($1, $2, $3) "
		"ON CONFLICT (name, part) DO UPDATE SET total = c.total + excluded.total",
		.types = {"text", "int4", "int8"}
	};
	Datum		values[3];

	if (number == 0)
		return;
	values[0] = CStringGetTextDatum(name);
	values[1] = Int32GetDatum(yq_queue_lock_total());
	values[2] = Int64GetDatum(number);
	(void) yq_saved_plan_execute(&add, values, NULL);
}

/* -- refusal ------------------------------------------------------------------- */

/* -- rows ---------------------------------------------------------------------- */

static void
put_text(Datum *values, char *nulls, int parameter, const char *value)
{
	nulls[parameter] = value == NULL ? 'n' : ' ';
	if (value != NULL)
		values[parameter] = CStringGetTextDatum(value);
}

bool
yq_refusal_note(const char *round, const char *subject, const ErrorData *error)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.scheduler_refusal AS f WHERE f.round = $1 AND f.subject = $2 AND f.held_until > yquota.clock()",
		.types = {"text", "text"}
	};
	static YqSavedPlan note = {
		.command = "INSERT INTO yquota.scheduler_refusal AS f (round, subject, sqlstate, message, detail, hint, refusals, first_refused_at, "
		"refused_at, held_until) VALUES ($1, $2, $3, $4, $5, $6, 1, yquota.clock(), yquota.clock(), yquota.clock() + interval '1 minute') "
		"ON CONFLICT (round, subject) DO UPDATE SET sqlstate = excluded.sqlstate, message = excluded.message, detail = excluded.detail, "
		"hint = excluded.hint, refusals = f.refusals + 1, refused_at = excluded.refused_at, held_until = excluded.held_until",
		.types = {"text", "text", "text", "text", "text", "text"}
	};
	Datum		values[6] = {CStringGetTextDatum(round), CStringGetTextDatum(subject)};
	char		nulls[] = "      ";
	bool		was_held = yq_saved_plan_execute(&look_up, values, NULL) > 0;

	put_text(values, nulls, 2, unpack_sql_state(error->sqlerrcode));
	put_text(values, nulls, 3, error->message);
	put_text(values, nulls, 4, error->detail);
	put_text(values, nulls, 5, error->hint);
	(void) yq_saved_plan_execute(&note, values, nulls);
	yq_scheduler_count_add(YQ_COUNT_REFUSED, 1);
	return !was_held;
}

/* -- a round ------------------------------------------------------------------- */

/* Consecutive subjects of a round. */
typedef struct Part
{
	const YqRound *round;
	int			first;
	int			count;
	int		   *subjects;		/* numbers of all refused subjects, with the errors */
	ErrorData **errors;
	int		   *refused;
} Part;

static void
do_part(void *argument)
{
	const Part *part = argument;

	part->round->work(part->round->argument, part->first, part->count);
}

/*
 * Do the work of the subjects that do not fail.  The work of earlier subjects has been done before,
 * because some subjects fail only together with an earlier one.
 */
static void
do_what_can_be(void *argument)
{
	const Part *part = argument;
	ErrorData  *error;
	Part		half = *part;

	CHECK_FOR_INTERRUPTS();
	if (part->count == 0)
		return;
	error = yq_attempt(do_part, unconstify(Part *, part));
	if (error == NULL)
		return;
	if (part->count == 1)
	{
		part->subjects[*part->refused] = part->first;
		part->errors[(*part->refused)++] = error;
		return;
	}
	half.count = part->count / 2;
	do_what_can_be(&half);
	half.first += half.count;
	half.count = part->count - half.count;
	do_what_can_be(&half);
}

static void
run(const YqRound *round, bool is_dry)
{
	int			refused = 0;
	Part		all = {.round = round,.count = round->count,.subjects = palloc(sizeof(int) * Max(round->count, 1)),
	.errors = palloc(sizeof(ErrorData *) * Max(round->count, 1)),.refused = &refused};

	if (!is_dry)
		do_what_can_be(&all);
	else
	{
		ErrorData  *error = yq_attempt_dry(do_what_can_be, &all);

		if (error != NULL)
			ReThrowError(error);
	}
	for (int i = 0; i < refused; i++)
		round->refuse(round->argument, all.subjects[i], all.errors[i]);
}

void
yq_round_run(const YqRound *round)
{
	run(round, false);
}

void
yq_round_try(const YqRound *round)
{
	run(round, true);
}

/*-------------------------------------------------------------------------
 *
 * project_credit.c
 *	  Credit of a project for an application, its containers or a reservation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "admission/application/project_credit.h"
#include "executor/spi.h"
#include "queues/text.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* Copy a column of the only row as text, in memory that remains valid after SPI_finish(). */
static char *
copy_answer(int column)
{
	char	   *text = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column);

	return strcpy(SPI_palloc(strlen(text) + 1), text);
}

static bool
answers_yes(void)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

	return !isnull && DatumGetBool(value);
}

/*
 * Could the project's credit lead to a refusal?  The last parameter lists policies (on_exhausted).
 * The answer is no if the list contains the policies of the project and of all its prepaid
 * ancestors.
 */
static YqSavedPlan mode = {
	.command = "SELECT p.quota_mode::text = 'PREPAID' AND (p.on_exhausted::text <> ALL ($2) OR EXISTS ("
		"SELECT FROM yquota_internal.prepaid_ancestor AS a WHERE a.member = p.name AND a.on_exhausted::text <> ALL ($2))) "
		"FROM yquota.project AS p WHERE p.name = $1",
	.types = {"text", "_text"}
};

/* Lock the project's credit.  Other transactions cannot hold this credit or move the project in the meantime. */
static void
lock_credit(Datum project)
{
	static YqSavedPlan lock = {
		.command = "SELECT yquota_internal.lock_credit($1)",
		.types = {"text"}
	};

	table_close(yq_table_open(YQ_PROJECT_FAMILY, RowExclusiveLock), NoLock);
	(void) yq_saved_plan_execute(&lock, &project, NULL);
}

/*
 * Find out whether credit is short for a cost.  Credit that is already held for the
 * application, the queue or the reservation in question counts as available.
 */
static void
find_shortage(Datum *values, const char *nulls, YqProjectCredit *answer)
{
	static YqSavedPlan credit = {
		.command = "SELECT s.remaining, s.limited_by FROM yquota_internal.credit_shortage($1, $2, $3, $4, ($5)::numeric, $6) AS s",
		.types = {"text", "text", "text", "text", "text", "_text"}
	};

	if (yq_saved_plan_run(&credit, values, nulls) == 0)
		return;
	answer->suffices = false;
	answer->remaining = copy_answer(1);
	answer->limited_by = copy_answer(2);
}

YqProjectCredit
yq_project_credit(const char *project, const char *application_id, const char *queue, YqCreditUse use)
{
	static const char *const overdrawing[] = {"allow", "refuse_submission"};
	Datum		policies[] = {CStringGetTextDatum(project),
	yq_array_of_names(overdrawing, use == YQ_CREDIT_FOR_SUBMISSION ? 1 : 2)};
	Datum		values[] = {policies[0], CStringGetTextDatum(application_id),
		queue == NULL ? (Datum) 0 : CStringGetTextDatum(queue), (Datum) 0, CStringGetTextDatum("0"), policies[1]};
	YqProjectCredit answer = {.suffices = true};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	answer.is_known = yq_saved_plan_run(&mode, policies, NULL) == 1;
	if (answer.is_known && answers_yes())
		find_shortage(values, queue == NULL ? "  nn  " : "   n  ", &answer);
	SPI_finish();
	return answer;
}

YqProjectCredit
yq_project_credit_to_reserve(const char *project, const char *reservation_id, const char *cost, bool locks)
{
	static const char *const overdrawing[] = {"allow"};
	Datum		policies[] = {CStringGetTextDatum(project), yq_array_of_names(overdrawing, lengthof(overdrawing))};
	Datum		values[] = {policies[0], (Datum) 0, (Datum) 0, CStringGetTextDatum(reservation_id), CStringGetTextDatum(cost), policies[1]};
	YqProjectCredit answer = {.is_known = true,.suffices = true};
	bool		may_refuse;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	may_refuse = yq_saved_plan_run(&mode, policies, NULL) == 1 && answers_yes();
	if (locks && (may_refuse || strcmp(cost, "0") != 0))
		lock_credit(policies[0]);
	if (may_refuse)
		find_shortage(values, " nn   ", &answer);
	SPI_finish();
	return answer;
}

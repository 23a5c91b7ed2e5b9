/*-------------------------------------------------------------------------
 *
 * project_credit.c
 *	  Has a project credit for what an application is to get?
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

/* A column of the only row, as text that outlives SPI_finish(). */
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

/* May it come to a refusal, by the policies that are not among those of the last parameter? */
static YqSavedPlan mode = {
	.command = "SELECT p.quota_mode::text = 'PREPAID' AND (p.on_exhausted::text <> ALL ($2) OR EXISTS ("
		"SELECT FROM yquota_internal.project_family AS f JOIN yquota.project AS a ON a.name = f.ancestor "
		"WHERE f.member = p.name AND a.quota_mode::text = 'PREPAID' AND a.on_exhausted::text <> ALL ($2))) "
		"FROM yquota.project AS p WHERE p.name = $1",
	.types = {"text", "_text"}
};

/* Let no other transaction hold credit of the project, nor move it to other ancestors. */
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

/* The statement says whether credit is short, how much remains, and the project that limits it. */
static void
find_shortage(YqSavedPlan *credit, Datum *values, YqProjectCredit *answer)
{
	if (yq_saved_plan_run(credit, values, NULL) != 1 || !answers_yes())
		return;
	answer->suffices = false;
	answer->remaining = copy_answer(2);
	answer->limited_by = copy_answer(3);
}

YqProjectCredit
yq_project_credit(const char *project, const char *application_id, const char *queue, YqCreditUse use)
{
	static YqSavedPlan credit = {
		.command = "SELECT EXISTS (SELECT FROM unnest(c.limits, c.policies) AS l (remaining, policy) "
			"WHERE l.remaining + h.own <= 0 AND l.policy::text <> ALL ($3)), "
			"trim_scale(c.available + h.own)::text, c.limited_by "
			"FROM yquota_internal.project_credit AS c, LATERAL ("
			"SELECT coalesce(sum(h.outstanding), 0) AS own FROM yquota_internal.hold_outstanding AS h "
			"WHERE h.project = $1 AND (h.application_id = $2 OR h.queue = $4)) AS h WHERE c.project = $1",
		.types = {"text", "text", "_text", "text"}
	};
	static const char *const overdrawing[] = {"allow", "refuse_submission"};
	Datum		values[] = {
		CStringGetTextDatum(project),
		CStringGetTextDatum(application_id),
		yq_array_of_names(overdrawing, use == YQ_CREDIT_FOR_SUBMISSION ? 1 : 2),
		CStringGetTextDatum(queue == NULL ? "" : queue)
	};
	Datum		policies[] = {values[0], values[2]};
	YqProjectCredit answer = {.suffices = true};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	answer.is_known = yq_saved_plan_run(&mode, policies, NULL) == 1;
	if (answer.is_known && answers_yes())
		find_shortage(&credit, values, &answer);
	SPI_finish();
	return answer;
}

YqProjectCredit
yq_project_credit_to_reserve(const char *project, const char *reservation_id, const char *cost, bool locks)
{
	static YqSavedPlan credit = {
		.command = "SELECT EXISTS (SELECT FROM unnest(c.limits, c.policies) AS l (remaining, policy) "
			"WHERE (l.remaining + h.own <= 0 OR l.remaining + h.own < ($3)::numeric) AND l.policy::text <> 'allow'), "
			"trim_scale(c.available + h.own)::text, c.limited_by "
			"FROM yquota_internal.project_credit AS c, LATERAL ("
			"SELECT coalesce(sum(h.outstanding), 0) AS own FROM yquota_internal.hold_outstanding AS h "
			"WHERE h.project = $1 AND h.reservation_id = $2) AS h WHERE c.project = $1",
		.types = {"text", "text", "text"}
	};
	static const char *const overdrawing[] = {"allow"};
	Datum		values[] = {CStringGetTextDatum(project), CStringGetTextDatum(reservation_id), CStringGetTextDatum(cost)};
	Datum		policies[] = {values[0], yq_array_of_names(overdrawing, lengthof(overdrawing))};
	YqProjectCredit answer = {.is_known = true,.suffices = true};
	bool		may_refuse;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	may_refuse = yq_saved_plan_run(&mode, policies, NULL) == 1 && answers_yes();
	if (locks && (may_refuse || strcmp(cost, "0") != 0))
		lock_credit(values[0]);
	if (may_refuse)
		find_shortage(&credit, values, &answer);
	SPI_finish();
	return answer;
}

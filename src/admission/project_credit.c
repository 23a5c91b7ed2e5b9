/*-------------------------------------------------------------------------
 *
 * project_credit.c
 *	  Has a project credit for what an application is to get?
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/project_credit.h"
#include "executor/spi.h"
#include "queues/text.h"
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

YqProjectCredit
yq_project_credit(const char *project, const char *application_id, YqCreditUse use)
{
	static YqSavedPlan mode = {
		.command = "SELECT p.quota_mode::text = 'PREPAID' AND (p.on_exhausted::text <> ALL ($3) OR EXISTS ("
			"SELECT FROM yquota_internal.project_family AS f JOIN yquota.project AS a ON a.name = f.ancestor "
			"WHERE f.member = p.name AND a.quota_mode::text = 'PREPAID' AND a.on_exhausted::text <> ALL ($3))) "
			"FROM yquota.project AS p WHERE p.name = $1",
		.types = {"text", "text", "_text"}
	};
	static YqSavedPlan credit = {
		.command = "SELECT EXISTS (SELECT FROM unnest(c.limits, c.policies) AS l (remaining, policy) "
			"WHERE l.remaining + h.own <= 0 AND l.policy::text <> ALL ($3)), "
			"trim_scale(c.available + h.own)::text, c.limited_by "
			"FROM yquota_internal.project_credit AS c, LATERAL ("
			"SELECT coalesce(sum(h.outstanding), 0) AS own FROM yquota_internal.hold_outstanding AS h "
			"WHERE h.project = $1 AND h.application_id = $2) AS h WHERE c.project = $1",
		.types = {"text", "text", "_text"}
	};
	static const char *const overdrawing[] = {"allow", "refuse_submission"};
	Datum		values[] = {
		CStringGetTextDatum(project),
		CStringGetTextDatum(application_id),
		yq_array_of_names(overdrawing, use == YQ_CREDIT_FOR_SUBMISSION ? 1 : 2)
	};
	YqProjectCredit answer = {.suffices = true};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	answer.is_known = yq_saved_plan_run(&mode, values, NULL) == 1;
	if (answer.is_known && answers_yes() && yq_saved_plan_run(&credit, values, NULL) == 1 && answers_yes())
	{
		answer.suffices = false;
		answer.remaining = copy_answer(2);
		answer.limited_by = copy_answer(3);
	}
	SPI_finish();
	return answer;
}

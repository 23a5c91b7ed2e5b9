/*-------------------------------------------------------------------------
 *
 * placement_sql.c
 *	  Placement as SQL functions, see sql/admission/260_queue_access.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access.h"
#include "admission/placement.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(yq_sql_explain_placement);
PG_FUNCTION_INFO_V1(yq_sql_place_application);

/* YARN's name of an application without a name. */
#define UNNAMED_APPLICATION "N/A"

static const char *const outcome_names[] = {
	[YQ_PLACED] = "PLACED",
	[YQ_PLACED_BY_DEFAULT] = "PLACED_BY_DEFAULT",
	[YQ_PLACED_AS_NAMED] = "PLACED_AS_NAMED",
	[YQ_PLACEMENT_REJECTED] = "REJECTED",
	[YQ_PLACEMENT_UNKNOWN] = "UNKNOWN",
};

/* Arguments username, groups, queue, application_name. */
static YqApplicant
applicant_arguments(FunctionCallInfo fcinfo, YqSubject *subject)
{
	YqApplicant applicant = {
		.subject = subject,
		.queue = YQ_UNNAMED_QUEUE,
		.application_name = UNNAMED_APPLICATION,
	};

	*subject = yq_subject_arguments(fcinfo, 0, 1, -1);
	if (!PG_ARGISNULL(2))
		applicant.queue = text_to_cstring(yq_required_text(fcinfo, 2, "queue"));
	if (!PG_ARGISNULL(3))
		applicant.application_name = text_to_cstring(PG_GETARG_TEXT_PP(3));
	return applicant;
}

static char *
rule_label(const YqMappingRule *rule)
{
	return psprintf("%s %d", yq_rule_kind_name(rule->kind), rule->position);
}

/* Rules from one number up to another one, which were not even looked at. */
static ArrayBuildState *
add_mismatches(ArrayBuildState *texts, const YqMappingRule *rules, int from, int until)
{
	char	   *line;

	if (from == until)
		return texts;
	if (from == until - 1)
		line = psprintf("%s: does not match", rule_label(&rules[from]));
	else
		line = psprintf("%s to %s: do not match", rule_label(&rules[from]),
						rule_label(&rules[until - 1]));
	return accumArrayResult(texts, CStringGetTextDatum(line), false, TEXTOID, CurrentMemoryContext);
}

/* Why each rule before the one that decided did not. */
static Datum
earlier_rules(const YqMappingRule *rules, const YqPlacement *placement)
{
	ArrayBuildState *texts = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	int			next = 0;
	ListCell   *cell;

	foreach(cell, placement->skipped)
	{
		YqSkippedRule *skipped = lfirst(cell);
		char	   *line = psprintf("%s: matches; %s", rule_label(&rules[skipped->number]),
									skipped->reason);

		texts = add_mismatches(texts, rules, next, skipped->number);
		texts = accumArrayResult(texts, CStringGetTextDatum(line), false, TEXTOID,
								 CurrentMemoryContext);
		next = skipped->number + 1;
	}
	texts = add_mismatches(texts, rules, next, placement->rules_asked);
	return makeArrayResult(texts, CurrentMemoryContext);
}

static Datum
kind_datum(YqRuleKind kind)
{
	return ObjectIdGetDatum(yq_enum_oid("mapping_rule_kind", yq_rule_kind_name(kind)));
}

/* place_application(username, groups, queue, application_name) */
Datum
yq_sql_place_application(PG_FUNCTION_ARGS)
{
	YqSubject	subject;
	YqApplicant applicant = applicant_arguments(fcinfo, &subject);
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqPlacement placement;
	Datum		values[7];
	bool		nulls[7] = {false};

	placement = yq_place_application(hierarchy, &applicant);
	nulls[0] = (placement.queue == NULL);
	if (placement.queue != NULL)
		values[0] = CStringGetTextDatum(placement.queue);
	values[1] = CStringGetTextDatum(outcome_names[placement.outcome]);
	values[2] = BoolGetDatum(placement.must_create);
	nulls[3] = nulls[4] = (placement.rule < 0);
	if (placement.rule >= 0)
	{
		const YqMappingRule *rule = &hierarchy->mapping_rules.rules[placement.rule];

		values[3] = kind_datum(rule->kind);
		values[4] = Int32GetDatum(rule->position);
	}
	values[5] = CStringGetTextDatum(placement.reason);
	values[6] = earlier_rules(hierarchy->mapping_rules.rules, &placement);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo),
													  values, nulls)));
}

/* -- explaining ----------------------------------------------------------- */

static void
put_trace(void *state, const YqMappingRule *rule, const YqRuleTrace *trace)
{
	ReturnSetInfo *result = state;
	Datum		values[6];
	bool		nulls[6] = {false};

	values[0] = kind_datum(rule->kind);
	values[1] = Int32GetDatum(rule->position);
	values[2] = BoolGetDatum(trace->matches);
	nulls[3] = (trace->target == NULL);
	if (trace->target != NULL)
		values[3] = CStringGetTextDatum(trace->target);
	values[4] = BoolGetDatum(trace->decides);
	values[5] = CStringGetTextDatum(trace->reason);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* explain_placement(username, groups, queue, application_name) */
Datum
yq_sql_explain_placement(PG_FUNCTION_ARGS)
{
	YqSubject	subject;
	YqApplicant applicant = applicant_arguments(fcinfo, &subject);

	InitMaterializedSRF(fcinfo, 0);
	yq_placement_trace(yq_hierarchy_get(), &applicant, put_trace, fcinfo->resultinfo);
	return (Datum) 0;
}

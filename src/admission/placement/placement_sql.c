/*-------------------------------------------------------------------------
 *
 * placement_sql.c
 *	  Placement as SQL functions, see sql/admission/260_queue_access.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/placement/placement.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(yq_sql_application_place);

/* Name that YARN gives to an application without a name. */
#define UNNAMED_APPLICATION "N/A"

static const char *const outcome_names[] = {
	[YQ_PLACED] = "PLACED",
	[YQ_PLACED_BY_DEFAULT] = "PLACED_BY_DEFAULT",
	[YQ_PLACED_AS_NAMED] = "PLACED_AS_NAMED",
	[YQ_PLACEMENT_REJECTED] = "REJECTED",
	[YQ_PLACEMENT_UNKNOWN] = "UNKNOWN",
};

/* Read the arguments username, groups, queue, application_name. */
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

/* Add a line for the rules between two numbers.  None of them matches the application. */
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

/* Return an array with a line for each rule before the decision: why did the rule not decide? */
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

/* Add a row for a rule to the result of place_application().  The last such row is for the rule that decides. */
static void
put_rule(void *state, const YqMappingRule *rule, const YqRuleTrace *trace)
{
	ReturnSetInfo *result = state;
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, NULL);
	yq_row_put_text(&row, NULL);
	yq_row_put(&row, (Datum) 0, true);
	yq_row_put(&row, kind_datum(rule->kind), false);
	yq_row_put(&row, Int32GetDatum(rule->position), false);
	yq_row_put_text(&row, trace->reason);
	yq_row_put(&row, (Datum) 0, true);
	yq_row_put(&row, BoolGetDatum(trace->matches), false);
	yq_row_put_text(&row, trace->target);
	yq_row_put(&row, BoolGetDatum(trace->decides), false);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* Add the row with the decision to the result of place_application(). */
static void
put_placement(ReturnSetInfo *result, const YqMappingRule *rules, const YqPlacement *placement)
{
	const YqMappingRule *rule = placement->rule < 0 ? NULL : &rules[placement->rule];
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, placement->queue);
	yq_row_put_text(&row, outcome_names[placement->outcome]);
	yq_row_put(&row, BoolGetDatum(placement->must_create), false);
	yq_row_put(&row, rule == NULL ? (Datum) 0 : kind_datum(rule->kind), rule == NULL);
	yq_row_put(&row, rule == NULL ? (Datum) 0 : Int32GetDatum(rule->position), rule == NULL);
	yq_row_put_text(&row, placement->reason);
	yq_row_put(&row, earlier_rules(rules, placement), false);
	yq_row_put(&row, (Datum) 0, true);
	yq_row_put_text(&row, NULL);
	yq_row_put(&row, (Datum) 0, true);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* place_application(username, groups, queue, application_name, explain) */
Datum
yq_sql_application_place(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqSubject	subject;
	YqApplicant applicant = applicant_arguments(fcinfo, &subject);
	YqPlacement placement;

	yq_require_value(PG_ARGISNULL(4), "explain");
	InitMaterializedSRF(fcinfo, 0);
	if (PG_GETARG_BOOL(4))
		yq_placement_trace(hierarchy, &applicant, put_rule, result);
	placement = yq_place_application(hierarchy, &applicant);
	put_placement(result, hierarchy->mapping_rules.rules, &placement);
	return (Datum) 0;
}

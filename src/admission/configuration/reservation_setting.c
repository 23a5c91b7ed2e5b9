/*-------------------------------------------------------------------------
 *
 * reservation_setting.c
 *	  Settings of plans (reservation 11).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/reservation_setting.h"
#include "admission/configuration/setting_query.h"
#include "executor/spi.h"
#include "queues/validate.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

#define ALIGNED_AGENT "AlignedPlannerWithGreedy"
#define GREEDY_AGENT "GreedyReservationAgent"
#define OVER_TIME_POLICY "CapacityOverTimePolicy"
#define NO_OVER_COMMIT_POLICY "NoOverCommitPolicy"
#define REPLANNER "SimpleCapacityReplanner"
#define RESERVATION_SYSTEM "CapacityReservationSystem"
#define PLAN_FOLLOWER "CapacitySchedulerPlanFollower"

#define PREFIX "yarn.resourcemanager.reservation-system."

/* Of a step, a period and a window: sums of them with any time must fit. */
#define MOST_MILLISECONDS "3153600000000"

/* What is in force where none, or nothing above 0, is set. */
#define STEP_IN_FORCE \
	"CASE WHEN s.reservation_system_planfollower_time_step > 0 THEN s.reservation_system_planfollower_time_step ELSE 1000 END"
#define LARGEST_PERIOD_IN_FORCE \
	"CASE WHEN s.reservation_system_max_periodicity > 0 THEN s.reservation_system_max_periodicity ELSE 86400000 END"

/* -- reading --------------------------------------------------------------------- */

/* Columns of the statement, in its order, from 1 on. */
typedef enum SettingColumn
{
	SETTING_IS_ENABLED = 1,
	SETTING_CHECKS_ACCESS,
	SETTING_STEP,
	SETTING_LARGEST_PERIOD,
	SETTING_SMOOTHNESS,
	SETTING_FAVORS_EARLY,
	SETTING_WRAPS,
	SETTING_REPEATS,
	SETTING_PLANS_AROUND,
	SETTING_READS_FRACTIONS,
	SETTING_ENDS_AVERAGES,
	SETTING_MOST_WINDOWS,
	SETTING_MOST_COPIES,
	SETTING_MOST_REQUESTS,
	SETTING_WINDOW,
	SETTING_INSTANTANEOUS,
	SETTING_AVERAGE,
	SETTING_ALIGNS,
	SETTING_LIMITS_USERS,
	SETTING_ENFORCEMENT_WINDOW,
	SETTING_MOVES_ON_EXPIRY
} SettingColumn;

static Datum
value_of(int column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
}

/* The manual's 1 is the whole plan, Hadoop's one per cent of it (S12). */
static float4
share_of(int column)
{
	float4		share = DatumGetFloat4(value_of(column));

	return share <= 1 && DatumGetBool(value_of(SETTING_READS_FRACTIONS)) ? share : share / 100;
}

static YqReservationSettings
read_settings(void)
{
	return (YqReservationSettings) {
		.is_enabled = DatumGetBool(value_of(SETTING_IS_ENABLED)),
		.checks_access = DatumGetBool(value_of(SETTING_CHECKS_ACCESS)),
		.step = DatumGetInt64(value_of(SETTING_STEP)),
		.largest_period = DatumGetInt64(value_of(SETTING_LARGEST_PERIOD)),
		.smoothness = DatumGetInt32(value_of(SETTING_SMOOTHNESS)),
		.favors_early = DatumGetBool(value_of(SETTING_FAVORS_EARLY)),
		.wraps = DatumGetBool(value_of(SETTING_WRAPS)),
		.repeats = DatumGetBool(value_of(SETTING_REPEATS)),
		.plans_around = DatumGetBool(value_of(SETTING_PLANS_AROUND)),
		.ends_averages = DatumGetBool(value_of(SETTING_ENDS_AVERAGES)),
		.most_windows = DatumGetInt32(value_of(SETTING_MOST_WINDOWS)),
		.most_copies = DatumGetInt32(value_of(SETTING_MOST_COPIES)),
		.most_requests = DatumGetInt32(value_of(SETTING_MOST_REQUESTS)),
		.window = DatumGetInt64(value_of(SETTING_WINDOW)),
		.instantaneous_share = share_of(SETTING_INSTANTANEOUS),
		.average_share = share_of(SETTING_AVERAGE),
		.aligns = DatumGetBool(value_of(SETTING_ALIGNS)),
		.limits_users = DatumGetBool(value_of(SETTING_LIMITS_USERS)),
		.enforcement_window = DatumGetInt64(value_of(SETTING_ENFORCEMENT_WINDOW)),
		.moves_on_expiry = DatumGetBool(value_of(SETTING_MOVES_ON_EXPIRY))
	};
}

YqReservationSettings
yq_reservation_settings(const char *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT coalesce(s.reservation_system_enable, false), "
		"coalesce(s.acl_enable AND s.reservation_acl_enable, false), "
		STEP_IN_FORCE ", "
		LARGEST_PERIOD_IN_FORCE ", "
		"coalesce(s.reservation_system_smoothness_factor, 10), coalesce(s.reservation_system_favor_early_allocation, true), "
		"coalesce(s.reservation_wraps_periods, false), coalesce(s.reservation_repeats_allocation, false), "
		"coalesce(s.reservation_plans_around_overcommitment, false), coalesce(s.reservation_reads_fractions, false), "
		"coalesce(s.reservation_ends_averages, false), "
		"coalesce(s.reservation_most_windows, 1000000), coalesce(s.reservation_most_copies, 86400), coalesce(s.reservation_most_requests, 1000), "
		"CASE WHEN q.reservation_window > 0 THEN q.reservation_window ELSE 86400000 END, "
		"coalesce(q.instantaneous_max_capacity, 100::real), coalesce(q.average_capacity, 100::real), "
		YQ_LAST_NAME("q.reservation_agent") " IS DISTINCT FROM '" GREEDY_AGENT "', "
		YQ_LAST_NAME("q.reservation_policy") " IS DISTINCT FROM '" NO_OVER_COMMIT_POLICY "', "
		"coalesce(q.reservation_enforcement_window, 3600000), coalesce(q.reservation_move_on_expiry, true) "
		"FROM (SELECT) AS one LEFT JOIN yquota.scheduler_setting AS s ON true "
		"LEFT JOIN yquota.queue AS q ON q.path = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};
	YqReservationSettings settings;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	settings = read_settings();
	SPI_finish();
	return settings;
}

/* -- violations and advice ----------------------------------------------------------- */

static List *
add_unknown_classes(List *violations)
{
	static YqSavedPlan find_unknown = {
		.command = "SELECT c.queue, c.property, c.class, 'the class is not known; it is ' || c.known FROM ("
		"SELECT q.path AS queue, p.place, p.property, p.class, p.known FROM yquota.queue AS q CROSS JOIN LATERAL (VALUES "
		"(1, 'reservation-agent', q.reservation_agent, '" ALIGNED_AGENT " or " GREEDY_AGENT "'), "
		"(2, 'reservation-policy', q.reservation_policy, '" OVER_TIME_POLICY " or " NO_OVER_COMMIT_POLICY "'), "
		"(3, 'reservation-planner', q.reservation_planner, '" REPLANNER "')) AS p (place, property, class, known) "
		"WHERE q.reservable "
		"UNION ALL SELECT NULL, p.place, p.property, p.class, p.known FROM yquota.scheduler_setting AS s CROSS JOIN LATERAL (VALUES "
		"(1, '" PREFIX "class', s.reservation_system_class, '" RESERVATION_SYSTEM "'), "
		"(2, '" PREFIX "plan.follower', s.reservation_system_plan_follower, '" PLAN_FOLLOWER "')) AS p (place, property, class, known)) AS c "
		"WHERE " YQ_LAST_NAME("c.class") " <> ALL (string_to_array(c.known, ' or ')) ORDER BY c.queue, c.place"
	};

	return yq_setting_findings(violations, &find_unknown, NULL, NULL);
}

static List *
add_long_times(List *violations)
{
	static YqSavedPlan find_long = {
		.command = "SELECT v.queue, v.property, v.milliseconds::text, 'it may be " MOST_MILLISECONDS " milliseconds, 36500 days, at most' FROM ("
		"SELECT q.path AS queue, 1 AS place, 'reservation-window' AS property, q.reservation_window AS milliseconds FROM yquota.queue AS q WHERE q.reservable "
		"UNION ALL SELECT NULL, p.place, p.property, p.milliseconds FROM yquota.scheduler_setting AS s CROSS JOIN LATERAL (VALUES "
		"(1, '" PREFIX "planfollower.time-step', s.reservation_system_planfollower_time_step), "
		"(2, '" PREFIX "max-periodicity', s.reservation_system_max_periodicity)) AS p (place, property, milliseconds)) AS v "
		"WHERE v.milliseconds > " MOST_MILLISECONDS " ORDER BY v.queue, v.place"
	};

	return yq_setting_findings(violations, &find_long, NULL, NULL);
}

/* A plan counts what repeats in whole periods: it would lose sight of a reservation. */
static List *
add_broken_recurrence(List *violations)
{
	static YqSavedPlan find_broken = {
		.command = "SELECT NULL, '" PREFIX "max-periodicity', e.milliseconds::text, "
		"format('the recurrence of %s, %s, does not divide it; delete or update the reservation first', d.reservation_id, d.recurrence) "
		"FROM (SELECT) AS one LEFT JOIN yquota.scheduler_setting AS s ON true "
		"CROSS JOIN LATERAL (SELECT " LARGEST_PERIOD_IN_FORCE ") AS e (milliseconds) "
		"JOIN yquota.reservation_definition AS d ON e.milliseconds::numeric * 1000 % yquota_internal.microseconds(d.recurrence) <> 0 "
		"JOIN yquota.queue AS q ON q.path = d.queue AND q.reservable "
		"WHERE d.ended_at IS NULL AND d.recurrence IS NOT NULL ORDER BY d.reservation_id LIMIT 1"
	};

	return yq_setting_findings(violations, &find_broken, NULL, NULL);
}

List *
yq_reservation_validate(List *violations)
{
	return add_broken_recurrence(add_long_times(add_unknown_classes(violations)));
}

/* About a share of a plan that a user may have (S12). */
#define SHARE_ADVICE(column) \
	"CASE WHEN " column " <= 0 THEN 'no user may reserve anything' " \
	"WHEN " column " <= 1 AND s.reservation_reads_fractions IS NOT TRUE THEN " \
	"'the value is a percentage, though Hadoop''s manual calls 1 the whole plan; reservation_reads_fractions has it read so' END"

List *
yq_reservation_advise_plan(List *findings, const char *queue)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT q.path, p.property, p.value, p.advice "
		"FROM yquota.queue AS q LEFT JOIN yquota.scheduler_setting AS s ON true CROSS JOIN LATERAL (VALUES "
		"(1, 'instantaneous-max-capacity', q.instantaneous_max_capacity::text, " SHARE_ADVICE("q.instantaneous_max_capacity") "), "
		"(2, 'average-capacity', q.average_capacity::text, " SHARE_ADVICE("q.average_capacity") "), "
		"(3, 'reservation-window', q.reservation_window::text, "
		"CASE WHEN q.reservation_window <= 0 THEN 'the window is a day all the same' END)) AS p (place, property, value, advice) "
		"WHERE q.path = $1 AND p.advice IS NOT NULL ORDER BY p.place",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};

	return yq_setting_findings(findings, &find_unwise, values, NULL);
}

List *
yq_reservation_advise(List *findings, YqSettingTest is_wanted)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT NULL, p.property, p.value, p.advice, p.setting "
		"FROM yquota.scheduler_setting AS s CROSS JOIN LATERAL (SELECT "
		STEP_IN_FORCE ", "
		LARGEST_PERIOD_IN_FORCE ") AS e (step, period) "
		"CROSS JOIN LATERAL (VALUES "
		"(1, 'reservation_system_planfollower_time_step', '" PREFIX "planfollower.time-step', s.reservation_system_planfollower_time_step::text, "
		"CASE WHEN s.reservation_system_planfollower_time_step <= 0 THEN 'the step is 1000 milliseconds all the same' "
		"WHEN e.period % e.step <> 0 THEN '" PREFIX "max-periodicity is no multiple of it: reservations that repeat begin between two rounds of the plan follower' END), "
		"(2, 'reservation_system_max_periodicity', '" PREFIX "max-periodicity', s.reservation_system_max_periodicity::text, "
		"CASE WHEN s.reservation_system_max_periodicity <= 0 THEN 'the largest period is a day all the same' "
		"WHEN e.period % e.step <> 0 THEN 'it is no multiple of " PREFIX "planfollower.time-step: reservations that repeat begin between two rounds of the plan follower' END), "
		"(3, 'reservation_acl_enable', 'yarn.acl.reservation-enable', s.reservation_acl_enable::text, "
		"CASE WHEN s.reservation_acl_enable AND s.acl_enable IS NOT TRUE THEN 'lists of plans are not looked at: yarn.acl.enable is false' END)"
		") AS p (place, setting, property, value, advice) WHERE p.value IS NOT NULL AND p.advice IS NOT NULL ORDER BY p.place"
	};

	return yq_setting_findings(findings, &find_unwise, NULL, is_wanted);
}

/*-------------------------------------------------------------------------
 *
 * reservation_setting.c
 *	  Settings of plans (reservation 11).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/reservation_setting.h"
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

/* Of a class: the name without its package. */
#define LAST_NAME(column) "substring(" column " FROM '[^.]*$')"

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
	SETTING_MOST_WINDOWS,
	SETTING_MOST_COPIES,
	SETTING_MOST_REQUESTS,
	SETTING_WINDOW,
	SETTING_INSTANTANEOUS,
	SETTING_AVERAGE,
	SETTING_ALIGNS,
	SETTING_LIMITS_USERS
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
		.most_windows = DatumGetInt32(value_of(SETTING_MOST_WINDOWS)),
		.most_copies = DatumGetInt32(value_of(SETTING_MOST_COPIES)),
		.most_requests = DatumGetInt32(value_of(SETTING_MOST_REQUESTS)),
		.window = DatumGetInt64(value_of(SETTING_WINDOW)),
		.instantaneous_share = share_of(SETTING_INSTANTANEOUS),
		.average_share = share_of(SETTING_AVERAGE),
		.aligns = DatumGetBool(value_of(SETTING_ALIGNS)),
		.limits_users = DatumGetBool(value_of(SETTING_LIMITS_USERS))
	};
}

YqReservationSettings
yq_reservation_settings(const char *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT coalesce(s.reservation_system_enable, false), "
		"coalesce(s.acl_enable AND s.reservation_acl_enable, false), "
		"CASE WHEN s.reservation_system_planfollower_time_step > 0 THEN s.reservation_system_planfollower_time_step ELSE 1000 END, "
		"CASE WHEN s.reservation_system_max_periodicity > 0 THEN s.reservation_system_max_periodicity ELSE 86400000 END, "
		"coalesce(s.reservation_system_smoothness_factor, 10), coalesce(s.reservation_system_favor_early_allocation, true), "
		"coalesce(s.reservation_wraps_periods, false), coalesce(s.reservation_repeats_allocation, false), "
		"coalesce(s.reservation_plans_around_overcommitment, false), coalesce(s.reservation_reads_fractions, false), "
		"coalesce(s.reservation_most_windows, 1000000), coalesce(s.reservation_most_copies, 86400), coalesce(s.reservation_most_requests, 1000), "
		"CASE WHEN q.reservation_window > 0 THEN q.reservation_window ELSE 86400000 END, "
		"coalesce(q.instantaneous_max_capacity, 100::real), coalesce(q.average_capacity, 100::real), "
		LAST_NAME("q.reservation_agent") " IS DISTINCT FROM '" GREEDY_AGENT "', "
		LAST_NAME("q.reservation_policy") " IS DISTINCT FROM '" NO_OVER_COMMIT_POLICY "' "
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

/* -- classes that there are -------------------------------------------------------- */

static char *
string_of(uint64 row, int column, MemoryContext context)
{
	char	   *value = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);

	return value == NULL ? NULL : MemoryContextStrdup(context, value);
}

List *
yq_reservation_validate(List *violations)
{
	static YqSavedPlan find_unknown = {
		.command = "SELECT c.queue, c.property, c.class, c.known FROM ("
		"SELECT q.path AS queue, p.place, p.property, p.class, p.known FROM yquota.queue AS q CROSS JOIN LATERAL (VALUES "
		"(1, 'reservation-agent', q.reservation_agent, '" ALIGNED_AGENT " or " GREEDY_AGENT "'), "
		"(2, 'reservation-policy', q.reservation_policy, '" OVER_TIME_POLICY " or " NO_OVER_COMMIT_POLICY "'), "
		"(3, 'reservation-planner', q.reservation_planner, '" REPLANNER "')) AS p (place, property, class, known) "
		"WHERE q.reservable "
		"UNION ALL SELECT NULL, p.place, p.property, p.class, p.known FROM yquota.scheduler_setting AS s CROSS JOIN LATERAL (VALUES "
		"(1, '" PREFIX "class', s.reservation_system_class, '" RESERVATION_SYSTEM "'), "
		"(2, '" PREFIX "plan.follower', s.reservation_system_plan_follower, '" PLAN_FOLLOWER "')) AS p (place, property, class, known)) AS c "
		"WHERE " LAST_NAME("c.class") " <> ALL (string_to_array(c.known, ' or ')) ORDER BY c.queue, c.place"
	};
	MemoryContext caller = CurrentMemoryContext;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&find_unknown, NULL, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext old_context = MemoryContextSwitchTo(caller);

		violations = yq_violation_add(violations, string_of(i, 1, caller), string_of(i, 2, caller), string_of(i, 3, caller),
									  psprintf("the class is not known; it is %s", string_of(i, 4, caller)));
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	return violations;
}

/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  Definition of the configuration parameters yquota.*
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <limits.h>

#include "access/xact.h"
#include "base/settings.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/guc.h"

bool		yq_auto_create_project = false;
int			yq_charging = YQ_CHARGING_ON;
int			yq_cluster_shrink_grace = 600000;
int			yq_compute_interval = 10000;
char	   *yq_databases = NULL;
int			yq_max_clock_skew = 300000;
int			yq_max_event_age = 0;
int			yq_on_bad_event = YQ_ON_BAD_EVENT_ERROR;
int			yq_outage_max = 3600000;
int			yq_outage_policy = YQ_OUTAGE_FORGIVE;
int			yq_outage_threshold = 60000;
int			yq_price_interval = 10000;
int			yq_price_lead = 1000;
int			yq_utilization_max_age = 60000;

static const struct config_enum_entry charging_options[] = {
	{"on", YQ_CHARGING_ON, false},
	{"deferred", YQ_CHARGING_DEFERRED, false},
	{NULL, 0, false}
};

static const struct config_enum_entry on_bad_event_options[] = {
	{"error", YQ_ON_BAD_EVENT_ERROR, false},
	{"set_aside", YQ_ON_BAD_EVENT_SET_ASIDE, false},
	{"set_aside_quietly", YQ_ON_BAD_EVENT_SET_ASIDE_QUIETLY, false},
	{NULL, 0, false}
};

static const struct config_enum_entry outage_policy_options[] = {
	{"forgive", YQ_OUTAGE_FORGIVE, false},
	{"charge", YQ_OUTAGE_CHARGE, false},
	{NULL, 0, false}
};

/* -- values without a unit ----------------------------------------------------- */

/* true once the library is loaded; sessions then do not repeat warnings about the configuration file */
static bool is_loaded = false;

/*
 * Warn that a value seems to lack its unit.  The warning goes to the user or to the server's log.
 * Only one process warns about a value of the configuration file, although every process reads it.
 */
static void
warn_of_missing_unit(const char *name, int value, int least, const char *unit, const char *example)
{
	if (value <= 0 || value >= least ||
		(IsUnderPostmaster && !(is_loaded && IsTransactionState())))
		return;
	ereport(WARNING,
			(errmsg("\"%s\" is no more than %d %s", name, value, unit),
			 errhint("A value without a unit is in %s: write \"%s\", for example.",
					 strcmp(unit, "ms") == 0 ? "milliseconds" : "seconds", example)));
}

#define WARN_BELOW(setting, least, unit, example) \
static bool \
check_##setting(int *value, void **extra, GucSource source) \
{ \
	warn_of_missing_unit("yquota." #setting, *value, least, unit, example); \
	return true; \
}

WARN_BELOW(cluster_shrink_grace, 1000, "ms", "10min")
WARN_BELOW(compute_interval, 1000, "ms", "10s")
WARN_BELOW(max_clock_skew, 1000, "ms", "5min")
WARN_BELOW(max_event_age, SECS_PER_DAY, "s", "365 days")
WARN_BELOW(outage_max, 1000, "ms", "1h")
WARN_BELOW(outage_threshold, 1000, "ms", "1min")
WARN_BELOW(price_interval, 1000, "ms", "10s")
WARN_BELOW(price_lead, 100, "ms", "1s")
WARN_BELOW(utilization_max_age, 1000, "ms", "1min")

/* -- definition ------------------------------------------------------------------ */

/* Define a duration in milliseconds that can only be set in the server's configuration. */
static void
define_duration(const char *name, const char *description, int *variable,
				int minimum_ms, GucIntCheckHook check)
{
	DefineCustomIntVariable(name, description, NULL, variable, *variable,
							minimum_ms, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
							check, NULL, NULL);
}

void
yq_settings_define(void)
{
	DefineCustomBoolVariable("yquota.auto_create_project",
							 "Creates a project that a CONTAINER_START names and that does not exist.",
							 NULL,
							 &yq_auto_create_project,
							 false,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("yquota.charging",
							 "Whether events are charged when they come in, or kept for yquota.charge_deferred().",
							 NULL,
							 &yq_charging,
							 YQ_CHARGING_ON,
							 charging_options,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	define_duration("yquota.cluster_shrink_grace",
					"Time that a suddenly halved cluster keeps its price.",
					&yq_cluster_shrink_grace, 0, check_cluster_shrink_grace);
	define_duration("yquota.compute_interval",
					"Time between two QUOTA_COMPUTE events of the worker.",
					&yq_compute_interval, 10, check_compute_interval);

	/* Only the launcher reads this parameter, and there is a launcher only if the library is preloaded. */
	if (process_shared_preload_libraries_in_progress)
		DefineCustomStringVariable("yquota.databases",
								   "Databases that a worker is started for, separated by commas.",
								   NULL,
								   &yq_databases,
								   "",
								   PGC_SIGHUP, GUC_LIST_INPUT,
								   NULL, NULL, NULL);
	define_duration("yquota.max_clock_skew",
					"How far in the future an event may lie.",
					&yq_max_clock_skew, 0, check_max_clock_skew);
	DefineCustomIntVariable("yquota.max_event_age",
							"How old the CONTAINER_START of an unknown container may be when it arrives; 0 for any age.",
							NULL,
							&yq_max_event_age,
							0, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							check_max_event_age, NULL, NULL);
	DefineCustomEnumVariable("yquota.on_bad_event",
							 "Whether a bad event fails its statement or is set aside.",
							 NULL,
							 &yq_on_bad_event,
							 YQ_ON_BAD_EVENT_ERROR,
							 on_bad_event_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	define_duration("yquota.outage_max",
					"Longest gap that the worker turns into an outage by itself.",
					&yq_outage_max, 0, check_outage_max);
	DefineCustomEnumVariable("yquota.outage_policy",
							 "Whether the time that the worker was down is forgiven or charged.",
							 NULL,
							 &yq_outage_policy,
							 YQ_OUTAGE_FORGIVE,
							 outage_policy_options,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	define_duration("yquota.outage_threshold",
					"Shortest gap between two QUOTA_COMPUTE events that is an outage.",
					&yq_outage_threshold, 0, check_outage_threshold);
	define_duration("yquota.price_interval",
					"Time between two computations of prices.",
					&yq_price_interval, 10, check_price_interval);
	define_duration("yquota.price_lead",
					"How long before it takes effect a computed price is published.",
					&yq_price_lead, 0, check_price_lead);
	define_duration("yquota.utilization_max_age",
					"How long a reported utilization wins over the computed one.",
					&yq_utilization_max_age, 0, check_utilization_max_age);

	MarkGUCPrefixReserved("yquota");
	is_loaded = true;
}

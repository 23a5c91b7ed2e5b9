/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The configuration parameters yquota.*; times are in milliseconds.
 *
 * A setting determines when and whether work is done, but never an amount of money
 * (docs/design.md 1).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTINGS_H
#define YQ_SETTINGS_H

typedef enum YqCharging
{
	YQ_CHARGING_ON,
	YQ_CHARGING_DEFERRED		/* charge_deferred() charges later */
} YqCharging;

typedef enum YqOnBadEvent
{
	YQ_ON_BAD_EVENT_ERROR,
	YQ_ON_BAD_EVENT_SET_ASIDE,
	YQ_ON_BAD_EVENT_SET_ASIDE_QUIETLY	/* set bad events aside without a warning */
} YqOnBadEvent;

typedef enum YqOutagePolicy
{
	YQ_OUTAGE_FORGIVE,
	YQ_OUTAGE_CHARGE
} YqOutagePolicy;

extern bool yq_auto_create_project;
extern int	yq_charging;		/* YqCharging */
extern int	yq_cluster_shrink_grace;
extern int	yq_compute_interval;
extern char *yq_databases;
extern int	yq_max_clock_skew;
extern int	yq_max_event_age;	/* seconds; 0 allows any age */
extern int	yq_on_bad_event;	/* YqOnBadEvent */
extern int	yq_outage_max;
extern int	yq_outage_policy;	/* YqOutagePolicy */
extern int	yq_outage_threshold;
extern int	yq_price_interval;
extern int	yq_price_lead;
extern int	yq_utilization_max_age;

/* Define all settings.  Called once, when the library is loaded. */
extern void yq_settings_define(void);

#endif							/* YQ_SETTINGS_H */

/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  Changes of the counters by a statement, posted as appended deltas.
 *
 * Charged credits per project, running containers per project and rate class,
 * usage per queue, label, user and execution type, usage per node, events per
 * feed.  A statement sums its changes up in memory and appends the sums to
 * yquota_internal.counter_delta: no transaction waits for another one (docs/design.md
 * 1.5).  A statement about one container needs a single row.
 *
 * Memory is bounded: sums are posted early when there are many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COUNTERS_H
#define YQ_COUNTERS_H

#include "base/wide.h"
#include "charging/event.h"
#include "pricing/rate_class.h"

typedef struct YqCounters YqCounters;

/* Make empty sums in the current memory context. */
extern YqCounters *yq_counters_create(int64 pricing_version, TimestampTz recorded_at);

/* Credits were posted to a project's ledger. */
extern void yq_counters_charge(YqCounters *counters, const text *project,
							   const YqWide *amount);

/* Spending of a project from an instant on has changed; earlier spending has not. */
extern void yq_counters_changed_from(YqCounters *counters, const text *project, TimestampTz from);

/*
 * A container came (sign 1) or went (-1): "weight" times the shape of a rate
 * class with these factors, whose accrual counts from the full hour before settled_at.
 */
extern void yq_counters_accrue(YqCounters *counters, const text *project,
							   const YqRateClass *rate_class, ArrayType *factors,
							   TimestampTz settled_at, uint64 weight,
							   const YqWide *accrual_base, int sign);

/* Count the usage of a container that came or went. */
extern void yq_counters_use(YqCounters *counters, const text *queue, const text *label,
							const text *username, const text *node,
							Oid execution_type, const YqResource *allocation, int sign);

/*
 * Count an OPPORTUNISTIC container that came or went, whether it runs or waits: appended to
 * yquota_internal.opportunistic_change while limits of sharing have such containers counted
 * (opportunistic_counting), and forgotten otherwise.
 */
extern void yq_counters_share(YqCounters *counters, const text *queue, const text *username,
							  const text *application_id, const YqResource *allocation, int sign);

/*
 * An event arrived.  An event without a valid occurred_at is only counted.
 */
extern void yq_counters_feed(YqCounters *counters, const text *source,
							 bool has_occurred_at, TimestampTz occurred_at,
							 TimestampTz recorded_at);

/* Prices up to an instant were used. */
extern void yq_counters_priced(YqCounters *counters, TimestampTz through);

/* Post everything. */
extern void yq_counters_post(YqCounters *counters);

#endif							/* YQ_COUNTERS_H */

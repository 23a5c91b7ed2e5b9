/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  Changes of the counters by a statement, posted as appended deltas.
 *
 * Counters of money are charged credits per project, and running containers per project and rate
 * class.  Counters of usage are kept per node, and per queue, label, user and execution type.
 * Events are counted per feed.  A statement sums up its changes in memory and appends the sums to
 * yquota_internal.counter_delta, so no transaction waits for another one (docs/design.md 1.5).  A
 * statement about one container needs a single row.
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

/* Make an empty set of sums in the current memory context. */
extern YqCounters *yq_counters_create(int64 pricing_version, TimestampTz recorded_at);

/* Count credits that were posted to the ledger of a project. */
extern void yq_counters_charge(YqCounters *counters, const text *project,
							   const YqWide *amount);

/* Note that the spending of a project has changed at or after an instant. */
extern void yq_counters_changed_from(YqCounters *counters, const text *project, TimestampTz from);

/*
 * Count a container that started (sign 1) or ended (sign -1).  It contributes "weight" units of
 * the shape of a rate class with its factors.  Its accrual counts from the full hour before
 * settled_at.
 */
extern void yq_counters_accrue(YqCounters *counters, const text *project,
							   const YqRateClass *rate_class, ArrayType *factors,
							   TimestampTz settled_at, uint64 weight,
							   const YqWide *accrual_base, int sign);

/* Count the usage of a container that started or ended. */
extern void yq_counters_use(YqCounters *counters, const text *queue, const text *label,
							const text *username, const text *node,
							Oid execution_type, const YqResource *allocation, int sign);

/*
 * Count an OPPORTUNISTIC container that started or ended, whether it runs or waits.  If a limit
 * of sharing needs the number of such containers (see opportunistic_counting), the change is
 * inserted into yquota_internal.opportunistic_change.  Otherwise it is ignored.
 */
extern void yq_counters_share(YqCounters *counters, const text *queue, const text *username,
							  const text *application_id, const YqResource *allocation, int sign);

/* Count an event of a feed.  If the event has no valid occurred_at, only its number is counted. */
extern void yq_counters_feed(YqCounters *counters, const text *source,
							 bool has_occurred_at, TimestampTz occurred_at,
							 TimestampTz recorded_at);

/* Note that prices up to an instant were used. */
extern void yq_counters_priced(YqCounters *counters, TimestampTz through);

/* Post all sums. */
extern void yq_counters_post(YqCounters *counters);

#endif							/* YQ_COUNTERS_H */

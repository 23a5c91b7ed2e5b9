/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  The one clock: everything that asks "now" or waits goes through it.
 *
 * It is the system's clock unless a row of yquota_internal.clock_setting says
 * otherwise, which tests and demonstrations use (yquota.set_clock()).  Each
 * backend caches the setting; a change reaches it through the relation cache's
 * invalidation, like any change of a catalog.  Outside a transaction the last
 * known setting counts.
 *
 * docs/design.md 3.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLOCK_H
#define YQ_CLOCK_H

#include "datatype/timestamp.h"

/* The clock now; moves within a statement unless it is set by hand. */
extern TimestampTz yq_clock_now(void);

/* The clock at the start of the client's statement. */
extern TimestampTz yq_clock_statement(void);

/*
 * Milliseconds to sleep until the clock shows "until", at least 0.  While the
 * clock is set by hand it does not move by itself: the answer is then
 * YQ_CLOCK_STANDS for a future instant, and the transaction that sets the clock
 * wakes the sleeper (see yq_worker_wake_at_commit in worker/worker.h).
 */
#define YQ_CLOCK_STANDS (-1L)
extern long yq_clock_milliseconds_until(TimestampTz until);

/*
 * Read the setting again, ignoring the cache; true when it differs from the
 * cached one.  For a process that the setting transaction has woken: the latch
 * is set before the invalidation is sent.
 */
extern bool yq_clock_reread(void);

#endif							/* YQ_CLOCK_H */

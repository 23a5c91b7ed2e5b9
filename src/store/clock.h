/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  The one clock: all code that needs the present instant, or waits, uses it.
 *
 * The clock is the system's clock unless a row of yquota_internal.clock_setting says otherwise.
 * Tests and demonstrations set such a row (yquota.set_clock()).  Each backend caches the setting;
 * an invalidation of the relation cache reports a change of the setting.  Outside a transaction, a
 * backend uses the last setting that it knows.
 *
 * docs/design.md 3.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLOCK_H
#define YQ_CLOCK_H

#include "datatype/timestamp.h"

/* Return the present instant.  It advances within a statement unless the clock is set by hand. */
extern TimestampTz yq_clock_now(void);

/* Return the instant at which the client's statement started. */
extern TimestampTz yq_clock_statement(void);

/*
 * Return the number of milliseconds to sleep until the clock shows "until", at least 0.  A clock
 * that is set by hand does not advance by itself.  If the clock is set by hand and "until" is in
 * the future, the result is YQ_CLOCK_STANDS. The transaction that sets the clock wakes the
 * sleeping process (see yq_worker_wake_at_commit in worker/worker.h).
 */
#define YQ_CLOCK_STANDS (-1L)
extern long yq_clock_milliseconds_until(TimestampTz until);

/*
 * Read the setting of the clock again without using the cache.  Returns true when the setting
 * differs from the cached one.  A process calls this function when a transaction that sets the
 * clock has woken it.  That transaction sets the latch before it sends the invalidation, so the
 * cache may be out of date.
 */
extern bool yq_clock_reread(void);

#endif							/* YQ_CLOCK_H */

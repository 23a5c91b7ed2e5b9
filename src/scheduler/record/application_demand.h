/*-------------------------------------------------------------------------
 *
 * application_demand.h
 *	  Whether an application waits for anything, as its requests have it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_DEMAND_H
#define YQ_APPLICATION_DEMAND_H

/*
 * Have the user of an application count as active if it waits for anything of the
 * scheduler's, new GUARANTEED containers or more for running ones.  Returns how many new
 * containers it waits for, OPPORTUNISTIC ones included.  The caller holds the scheduler's
 * lock, and that of the application's leaf.
 */
extern int64 yq_application_demand_note(const char *application_id);

#endif							/* YQ_APPLICATION_DEMAND_H */

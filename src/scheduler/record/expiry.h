/*-------------------------------------------------------------------------
 *
 * expiry.h
 *	  Releasing containers that nobody has acknowledged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EXPIRY_H
#define YQ_EXPIRY_H

#include "base/compat.h"
#include "queues/hierarchy.h"

/* Decisions forgotten at a time. */
#define YQ_EXPIRY_BATCH 1000

/*
 * Forget decisions that nobody has acknowledged for yquota.allocation_expiry, oldest
 * first: containers that started by them end, with YARN's exit status for such
 * (ContainerExitStatus.ABORTED), and such as were increased get back what they had.
 * Those that somebody is just acknowledging are left alone, and so are containers
 * that somebody is just ending or changing.  Returns how many were
 * forgotten: YQ_EXPIRY_BATCH when there may be more.  Called under the lock of
 * passes.  A pass, which changes applications afterwards, gives the hierarchy, whose
 * leaves are locked before any container; NULL: none are.
 */
extern int	yq_release_expired(const YqHierarchy *hierarchy);

#endif							/* YQ_EXPIRY_H */

/*-------------------------------------------------------------------------
 *
 * running_class.h
 *	  The rate classes that running totals call by number.
 *
 * yquota_internal.running_class gives every class a number that is never given
 * to another one.  Each backend remembers the classes that it has met.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RUNNING_CLASS_H
#define YQ_RUNNING_CLASS_H

#include "pricing/rate_class.h"

/* Called at the start of every function that reads running totals. */
extern void yq_running_class_refresh(void);

/*
 * The class of that number, as the active snapshot sees it; prices must have
 * been refreshed.  ERRCODE_DATA_CORRUPTED when there is none.
 */
extern YqRateClass *yq_running_class(uint32 class_id);

#endif							/* YQ_RUNNING_CLASS_H */

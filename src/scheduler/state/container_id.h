/*-------------------------------------------------------------------------
 *
 * container_id.h
 *	  Names of containers, as YARN makes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_ID_H
#define YQ_CONTAINER_ID_H

#include "base/compat.h"

/* The bits of a number below its epoch. */
#define YQ_EPOCH_BITS 40

/*
 * ContainerId.toString() of the container with a number, in an attempt of an
 * application.  palloc'd.
 */
extern text *yq_container_id(const char *application_id, int32 attempt, int64 number);

#endif							/* YQ_CONTAINER_ID_H */

/*-------------------------------------------------------------------------
 *
 * request_row.h
 *	  Rows of the type yquota.container_request as requests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_ROW_H
#define YQ_REQUEST_ROW_H

#include "access/htup.h"
#include "scheduler/request/container_request.h"

/*
 * The request that a row is; an attribute that is null is as YARN has it without.  No
 * allocation or count is ERRCODE_NULL_VALUE_NOT_ALLOWED.
 */
extern YqContainerRequest yq_container_request_of_row(HeapTupleHeader row);

/* Those of an array of rows, without nulls in it.  Returns how many, palloc'd. */
extern int	yq_container_requests_of_array(Datum array, const YqContainerRequest **requests);

#endif							/* YQ_REQUEST_ROW_H */

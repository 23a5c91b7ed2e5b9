/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Figures of queues as Hadoop writes them, and ids of reservations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEXT_H
#define YQ_TEXT_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/* -- text ---------------------------------------------------------------------- */

/* Write amounts as <memory:1024, vCores:1>.  Types other than memory and cores appear only if they are not 0. */
extern char *yq_amounts_text(const YqHierarchy *hierarchy, const int64 *amounts);

/* Write labels in the notation of PostgreSQL's arrays: {gpu,ssd}. */
extern char *yq_labels_text(const YqHierarchy *hierarchy, const bool *labels);

/* Return the shortest decimal number that reads back as the same float. */
extern char *yq_float_text(float4 value);

/* Return a fraction or percentage as Java writes it: 1.0 instead of 1. */
extern char *yq_java_float_text(float4 value);

/* Make a PostgreSQL array of text from a List or from a C array. */
extern Datum yq_array_of_strings(const List *strings);
extern Datum yq_array_of_names(const char *const *names, int count);

/* -- reservation id ------------------------------------------------------------ */

/* Ids of reservations.  The id of a reservation is also the name of its queue. */

/* reservation_<cluster_timestamp>_<number> */
typedef struct YqReservationId
{
	int64		cluster_timestamp;
	int64		number;
} YqReservationId;

/* Parse an id.  Raises ERRCODE_INVALID_PARAMETER_VALUE if the text is not an id. */
extern YqReservationId yq_reservation_id_parse(const char *text);

/* Return the id as text, as it is stored, palloc'd.  The sequence number has at least four digits. */
extern char *yq_reservation_id_text(YqReservationId id);

#endif							/* YQ_TEXT_H */

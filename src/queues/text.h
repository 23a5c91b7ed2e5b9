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

/* <memory:1024, vCores:1>; other types only where there is something of them. */
extern char *yq_amounts_text(const YqHierarchy *hierarchy, const int64 *amounts);

/* Labels as an array of PostgreSQL's: {gpu,ssd}. */
extern char *yq_labels_text(const YqHierarchy *hierarchy, const bool *labels);

/* The shortest decimal that is the same float. */
extern char *yq_float_text(float4 value);

/* A fraction or percentage as Java writes it: 1.0 instead of 1. */
extern char *yq_java_float_text(float4 value);

/* Strings as an array of PostgreSQL's: those of a list, or of an array. */
extern Datum yq_array_of_strings(const List *strings);
extern Datum yq_array_of_names(const char *const *names, int count);

/* -- reservation id ------------------------------------------------------------ */

/* Ids of reservations, which are also the names of their queues. */

/* reservation_<cluster_timestamp>_<number> */
typedef struct YqReservationId
{
	int64		cluster_timestamp;
	int64		number;
} YqReservationId;

/* Read an id; ERRCODE_INVALID_PARAMETER_VALUE when it is none. */
extern YqReservationId yq_reservation_id_parse(const char *text);

/* As it is stored, palloc'd: the number has four digits at least. */
extern char *yq_reservation_id_text(YqReservationId id);

#endif							/* YQ_TEXT_H */

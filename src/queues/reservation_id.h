/*-------------------------------------------------------------------------
 *
 * reservation_id.h
 *	  Ids of reservations, which are also the names of their queues.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_ID_H
#define YQ_RESERVATION_ID_H

#include "base/compat.h"

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

#endif							/* YQ_RESERVATION_ID_H */

/*-------------------------------------------------------------------------
 *
 * reservation_id.c
 *	  Ids of reservations.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "queues/reservation_id.h"

/* A number up to "end"; false when there is none. */
static bool
parse_number(const char **text, char end, int64 *number)
{
	const char *digit = *text;

	*number = 0;
	for (; *digit >= '0' && *digit <= '9'; digit++)
	{
		if (pg_mul_s64_overflow(*number, 10, number) || pg_add_s64_overflow(*number, *digit - '0', number))
			return false;
	}
	if (digit == *text || *digit != end)
		return false;
	*text = digit + 1;
	return true;
}

char *
yq_reservation_id_text(YqReservationId id)
{
	return psprintf("reservation_" INT64_FORMAT "_%04lld", id.cluster_timestamp, (long long) id.number);
}

YqReservationId
yq_reservation_id_parse(const char *text)
{
	static const char prefix[] = "reservation_";
	const char *rest = text + strlen(prefix);
	YqReservationId id;

	if (strncmp(text, prefix, strlen(prefix)) != 0 || !parse_number(&rest, '_', &id.cluster_timestamp) ||
		!parse_number(&rest, '\0', &id.number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not the id of a reservation", text),
				 errhint("Ids have the form reservation_1700000000000_0001; yquota.new_reservation_id() makes one.")));
	return id;
}

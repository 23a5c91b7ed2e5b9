/*-------------------------------------------------------------------------
 *
 * container_id.c
 *	  Names of containers, as YARN makes them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/state/container_id.h"
#include "utils/builtins.h"

static char *
append(char *end, const char *text, Size length)
{
	memcpy(end, text, length);
	return end + length;
}

/*
 * ContainerId.toString(): container_<cluster timestamp>_<application>_<attempt>_<number>,
 * with e<epoch>_ behind the first part where the number is beyond the first epoch.
 */
text *
yq_container_id(const char *application_id, int32 attempt, int64 number)
{
	static const char prefix[] = "container_";
	static const char other_prefix[] = "application_";
	const char *id = application_id;
	int64		epoch = number >> YQ_EPOCH_BITS;
	text	   *result;
	char	   *end;

	if (strncmp(id, other_prefix, sizeof(other_prefix) - 1) == 0)
		id += sizeof(other_prefix) - 1;
	number &= (INT64CONST(1) << YQ_EPOCH_BITS) - 1;
	result = palloc(VARHDRSZ + sizeof(prefix) + strlen(id) + 3 * (MAXINT8LEN + 2));
	end = append(VARDATA(result), prefix, sizeof(prefix) - 1);
	if (epoch > 0)
	{
		*end++ = 'e';
		end = pg_ultostr_zeropad(end, (uint32) epoch, 2);
		*end++ = '_';
	}
	end = append(end, id, strlen(id));
	*end++ = '_';
	end = pg_ultostr_zeropad(end, (uint32) attempt, 2);
	*end++ = '_';
	if (number < 1000000)
		end = pg_ultostr_zeropad(end, (uint32) number, 6);
	else
		end += pg_lltoa(number, end);
	SET_VARSIZE(result, end - (char *) result);
	return result;
}

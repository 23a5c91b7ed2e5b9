/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Figures of queues as Hadoop writes them, and ids of reservations.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "common/shortest_dec.h"
#include "lib/stringinfo.h"
#include "queues/text.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* -- text ---------------------------------------------------------------------- */

char *
yq_amounts_text(const YqHierarchy *hierarchy, const int64 *amounts)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "<memory:" INT64_FORMAT ", vCores:" INT64_FORMAT,
					 amounts[YQ_MEMORY], amounts[YQ_VCORES]);
	for (int i = YQ_VCORES + 1; i < hierarchy->calculator.types; i++)
	{
		if (amounts[i] != 0)
			appendStringInfo(&text, ", %s: " INT64_FORMAT, hierarchy->type_names[i], amounts[i]);
	}
	appendStringInfoChar(&text, '>');
	return text.data;
}

char *
yq_labels_text(const YqHierarchy *hierarchy, const bool *labels)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoChar(&text, '{');
	for (int i = 1; i < hierarchy->label_count; i++)
	{
		if (labels[i])
			appendStringInfo(&text, "%s%s", text.len > 1 ? "," : "", hierarchy->labels[i]);
	}
	appendStringInfoChar(&text, '}');
	return text.data;
}

char *
yq_float_text(float4 value)
{
	char		buffer[FLOAT_SHORTEST_DECIMAL_LEN];

	float_to_shortest_decimal_buf(value, buffer);
	return pstrdup(buffer);
}

char *
yq_java_float_text(float4 value)
{
	char	   *text = yq_float_text(value);

	return strpbrk(text, ".eEnN") != NULL ? text : psprintf("%s.0", text);
}

Datum
yq_array_of_names(const char *const *names, int count)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(count, 1));

	for (int i = 0; i < count; i++)
		elements[i] = CStringGetTextDatum(names[i]);
	return PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT));
}

Datum
yq_array_of_strings(const List *strings)
{
	const char **names = palloc(sizeof(char *) * Max(list_length(strings), 1));
	const ListCell *cell;

	foreach(cell, strings)
		names[foreach_current_index(cell)] = lfirst(cell);
	return yq_array_of_names(names, list_length(strings));
}

/* -- reservation id ------------------------------------------------------------ */

/* Ids of reservations. */

/* Read a number that ends before "end".  Returns false if the text does not begin with a number. */
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

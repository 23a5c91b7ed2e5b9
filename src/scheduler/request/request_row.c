/*-------------------------------------------------------------------------
 *
 * request_row.c
 *	  Rows of the type yquota.container_request as requests.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "scheduler/request/expected_duration.h"
#include "scheduler/request/request_row.h"
#include "store/catalog.h"
#include "utils/builtins.h"

/* Attributes of yquota.container_request, in order. */
typedef enum RequestAttribute
{
	REQUEST_RESOURCE_NAME,
	REQUEST_ALLOCATION,
	REQUEST_COUNT,
	REQUEST_PRIORITY,
	REQUEST_ALLOCATION_REQUEST_ID,
	REQUEST_RELAX_LOCALITY,
	REQUEST_LABEL,
	REQUEST_EXECUTION_TYPE,
	REQUEST_EXPECTED_DURATION,
	REQUEST_ATTRIBUTES
} RequestAttribute;

/* Defaults of a request, as of YARN's ResourceRequest. */
static const YqContainerRequest defaults = {
	.resource_name = YQ_ANYWHERE_NAME,
	.priority = 1,
	.allocation_request_id = -1,
	.relaxes_locality = true,
	.is_guaranteed = true,
};

static YqContainerRequest
read_request_values(const Datum *values, const bool *nulls)
{
	YqContainerRequest request = defaults;

	yq_require_value(nulls[REQUEST_ALLOCATION], "allocation");
	yq_require_value(nulls[REQUEST_COUNT], "count");
	request.allocation = DatumGetYqResourceP(values[REQUEST_ALLOCATION]);
	request.count = DatumGetInt32(values[REQUEST_COUNT]);
	if (!nulls[REQUEST_RESOURCE_NAME])
		request.resource_name = TextDatumGetCString(values[REQUEST_RESOURCE_NAME]);
	if (!nulls[REQUEST_PRIORITY])
		request.priority = DatumGetInt32(values[REQUEST_PRIORITY]);
	if (!nulls[REQUEST_ALLOCATION_REQUEST_ID])
		request.allocation_request_id = DatumGetInt64(values[REQUEST_ALLOCATION_REQUEST_ID]);
	if (!nulls[REQUEST_RELAX_LOCALITY])
		request.relaxes_locality = DatumGetBool(values[REQUEST_RELAX_LOCALITY]);
	if (!nulls[REQUEST_LABEL])
		request.label = TextDatumGetCString(values[REQUEST_LABEL]);
	if (!nulls[REQUEST_EXECUTION_TYPE])
		request.is_guaranteed = DatumGetObjectId(values[REQUEST_EXECUTION_TYPE]) ==
			yq_enum_oid("execution_type", "GUARANTEED");
	if (!nulls[REQUEST_EXPECTED_DURATION])
		request.expected_duration = yq_expected_duration_read(values[REQUEST_EXPECTED_DURATION]);
	return request;
}

YqContainerRequest
yq_container_request_of_row(HeapTupleHeader row)
{
	Datum		values[REQUEST_ATTRIBUTES];
	bool		nulls[REQUEST_ATTRIBUTES];

	yq_row_attributes(row, REQUEST_ATTRIBUTES, values, nulls);
	return read_request_values(values, nulls);
}

int
yq_container_requests_of_array(Datum array, const YqContainerRequest **requests)
{
	HeapTupleHeader *rows;
	int			count = yq_rows_of_array(array, "requests", &rows);
	YqContainerRequest *read = palloc(sizeof(YqContainerRequest) * Max(count, 1));

	for (int i = 0; i < count; i++)
		read[i] = yq_container_request_of_row(rows[i]);
	*requests = read;
	return count;
}

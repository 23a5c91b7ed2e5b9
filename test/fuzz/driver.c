/*-------------------------------------------------------------------------
 *
 * driver.c
 *	  A coverage-guided fuzzer inside a backend.
 *
 * yq_sql_fuzz(target, arguments) hands a target to libFuzzer; "arguments" is
 * libFuzzer's command line.  The function does not return: after its runs the
 * fuzzer ends the process with status 0.  Therefore it is called in a server
 * in single-user mode (test/scripts/fuzz.sh).
 *
 * The library contains all of yquota, instrumented.  The server is the one
 * that runs in production.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "allocation.h"
#include "base/compat.h"
#include "fuzz.h"

extern int	LLVMFuzzerRunDriver(int *argc, char ***argv,
								int (*run) (const uint8 *data, size_t size));

static const YqFuzzTarget *target;
static MemoryContext run_context;

void
yq_fuzz_fail(const char *file, int line, const char *property)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
	abort();
}

uint8
yq_fuzz_byte(YqFuzzInput *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->next++;
}

int64
yq_fuzz_int64(YqFuzzInput *input)
{
	uint64		number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | yq_fuzz_byte(input);
	return (int64) number;
}

bytea *
yq_fuzz_part(YqFuzzInput *input)
{
	const uint8 *end = memchr(input->next, 0xFF, input->left);
	size_t		length = end == NULL ? input->left : end - input->next;
	bytea	   *part = palloc(VARHDRSZ + length);

	SET_VARSIZE(part, VARHDRSZ + length);
	memcpy(VARDATA(part), input->next, length);
	input->next += length;
	input->left -= length;
	(void) yq_fuzz_byte(input);
	return part;
}

char *
yq_fuzz_string(YqFuzzInput *input)
{
	bytea	   *part = yq_fuzz_part(input);
	int			length = VARSIZE(part) - VARHDRSZ;
	char	   *string = palloc(length + 1);

	memcpy(string, VARDATA(part), length);
	string[length] = '\0';
	return pg_verify_mbstr(PG_UTF8, string, length, true) ? string : NULL;
}

static bool
is_expected(int sqlstate)
{
	for (int i = 0; i < (int) lengthof(target->errors) && target->errors[i] != 0; i++)
	{
		if (target->errors[i] == sqlstate)
			return true;
	}
	return false;
}

static int
run_target(const uint8 *data, size_t size)
{
	YqFuzzInput input = {data, size};

	MemoryContextSwitchTo(run_context);
	PG_TRY();
	{
		target->run(&input);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(run_context);
		error = CopyErrorData();
		FlushErrorState();
		if (!is_expected(error->sqlerrcode))
		{
			fprintf(stderr, "unexpected error %s: %s\n",
					unpack_sql_state(error->sqlerrcode), error->message);
			abort();
		}
	}
	PG_END_TRY();
	yq_fuzz_remove_fences();
	MemoryContextReset(run_context);
	return 0;
}

/* Return the fuzzer's command line; the fuzzer keeps pointers into it. */
static char **
command_line(ArrayType *arguments, int *count)
{
	Datum	   *elements;
	bool	   *nulls;
	char	  **line;

	deconstruct_array(arguments, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, count);
	line = MemoryContextAllocZero(TopMemoryContext, sizeof(char *) * (*count + 2));
	line[0] = MemoryContextStrdup(TopMemoryContext, target->name);
	for (int i = 0; i < *count; i++)
		line[i + 1] = MemoryContextStrdup(TopMemoryContext, TextDatumGetCString(elements[i]));
	(*count)++;
	return line;
}

PG_FUNCTION_INFO_V1(yq_sql_fuzz);
Datum
yq_sql_fuzz(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			count;
	char	  **line;

	for (target = yq_fuzz_targets; target->name != NULL; target++)
	{
		if (strcmp(target->name, name) == 0)
			break;
	}
	if (target->name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no fuzz target \"%s\"", name)));
	run_context = AllocSetContextCreate(TopMemoryContext, "fuzz run", ALLOCSET_DEFAULT_SIZES);
	line = command_line(PG_GETARG_ARRAYTYPE_P(1), &count);
	PG_RETURN_INT32(LLVMFuzzerRunDriver(&count, &line, run_target));
}

/* The fuzzer's targets, each with the errors that are right for bad input. Errors of the wire
 * format, of text and of JSON are the server's own. */
const YqFuzzTarget yq_fuzz_targets[] = {
	{"resource_text", yq_fuzz_resource_text,
		{ERRCODE_INVALID_TEXT_REPRESENTATION, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	ERRCODE_INVALID_PARAMETER_VALUE}},
	{"resource_binary", yq_fuzz_resource_binary,
	{ERRCODE_INVALID_BINARY_REPRESENTATION, ERRCODE_PROTOCOL_VIOLATION}},
	{"resource_json", yq_fuzz_resource_json,
		{ERRCODE_INVALID_TEXT_REPRESENTATION, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	ERRCODE_INVALID_PARAMETER_VALUE}},
	{"resource_stored", yq_fuzz_resource_stored,
		{ERRCODE_DATA_CORRUPTED, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	ERRCODE_PROGRAM_LIMIT_EXCEEDED}},
	{"resource_pair", yq_fuzz_resource_pair,
		{ERRCODE_INVALID_BINARY_REPRESENTATION, ERRCODE_PROTOCOL_VIOLATION,
	ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, ERRCODE_PROGRAM_LIMIT_EXCEEDED}},
	{"packed_weights", yq_fuzz_packed_weights,
	{ERRCODE_DATA_CORRUPTED, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE}},
	{"amount", yq_fuzz_amount, {ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE}},
	{"price", yq_fuzz_price, {ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE}},
	{"payer", yq_fuzz_payer, {0}},
	{"setting", yq_fuzz_setting, {ERRCODE_INVALID_PARAMETER_VALUE}},
	{"hadoop_xml", yq_fuzz_hadoop_xml, {ERRCODE_INVALID_XML_DOCUMENT, ERRCODE_FEATURE_NOT_SUPPORTED}},
	{"capacity", yq_fuzz_capacity, {0}},
	{"acl", yq_fuzz_acl, {0}},
	{"priority_acl", yq_fuzz_priority_acl, {0}},
	{NULL, NULL, {0}}
};

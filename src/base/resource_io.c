/*-------------------------------------------------------------------------
 *
 * resource_io.c
 *	  Text, binary and JSON forms of yquota.resource.
 *
 * Text is written as [memory-mb=4096,vcores=2] in name order.  Input accepts this form with names in any
 * order and white space between tokens, and the form of YARN's logs, <memory:4096, vCores:2>.  JSON, of
 * type jsonb or as text, is an object of names and amounts, which are numbers or strings.
 *
 * An amount is a decimal number with an optional suffix.  A bare number counts native units.  A
 * number with a suffix is read as in Kubernetes and YARN.  The resource type determines its unit:
 *
 *     memory-mb         bytes; the native unit is 2^20 bytes
 *     names in -milli   whole cores or devices; the native unit is a thousandth
 *     all others        native units
 *
 * so memory-mb=4Gi is 4096, cpu-milli=500m is 500, cpu-milli=2k is 2000000 and
 * vcores=2000m is 2.  Evaluation is exact; a number that is not a whole number
 * of native units is an error, and is never rounded.
 *
 * Binary is a version byte, a count byte and for each entry a length byte, the name and a signed 64-bit
 * amount in network order.  Only canonical values are accepted.  Names are spelled out; codes of names
 * occur only in stored values.
 *
 * A syntax error is ERRCODE_INVALID_TEXT_REPRESENTATION, an amount outside int64 is
 * ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE.  An amount that is not whole, or JSON of the wrong kind, is
 * ERRCODE_INVALID_PARAMETER_VALUE.  Functions that receive binary values raise
 * ERRCODE_INVALID_BINARY_REPRESENTATION. resource_in raises the first three of these errors softly where
 * the server can.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "base/compat.h"
#include "base/resource.h"

#define BINARY_VERSION 1

/*
 * The largest number of digits after the decimal point, without trailing zeros.  A number with
 * more digits is rejected as not whole, without further checks.
 */
#define MAX_DECIMALS 24

/* The state of reading a value from text or JSON. */
typedef struct ResourceParser
{
	const char *input;			/* the whole text; NULL for type jsonb */
	Jsonb	   *json;			/* the whole document; NULL for text that is not JSON */
	const char *p;				/* next character of the text */
	Node	   *escontext;		/* context that receives soft errors, or NULL */
	int			count;
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
} ResourceParser;

/* A part of the input, not terminated. */
typedef struct Token
{
	const char *start;
	int			length;
} Token;

/* An amount as factors: number * 10^-decimals * numerator / denominator. */
typedef struct Quantity
{
	bool		negative;
	int128		number;
	int			decimals;
	int128		numerator;
	int128		denominator;
} Quantity;

typedef struct Suffix
{
	const char *name;
	int64		numerator;
	int64		denominator;
} Suffix;

static const Suffix suffixes[] = {
	{"m", 1, 1000},
	{"k", INT64CONST(1000), 1},
	{"M", INT64CONST(1000000), 1},
	{"G", INT64CONST(1000000000), 1},
	{"T", INT64CONST(1000000000000), 1},
	{"P", INT64CONST(1000000000000000), 1},
	{"E", INT64CONST(1000000000000000000), 1},
	{"Ki", INT64CONST(1) << 10, 1},
	{"Mi", INT64CONST(1) << 20, 1},
	{"Gi", INT64CONST(1) << 30, 1},
	{"Ti", INT64CONST(1) << 40, 1},
	{"Pi", INT64CONST(1) << 50, 1},
	{"Ei", INT64CONST(1) << 60, 1},
};

/* Report an error, and return false, because the error may be soft. */

static const char *
whole_input(ResourceParser *parser)
{
	if (parser->input == NULL)
		parser->input = JsonbToCString(NULL, &parser->json->root,
									   VARSIZE(parser->json));
	return parser->input;
}

/* "detail" is a translated sentence */
static bool
syntax_error(ResourceParser *parser, const char *detail)
{
	ereturn(parser->escontext, false,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%s\"",
					"yquota.resource", whole_input(parser)),
			 errdetail_internal("%s", detail)));
}

/* Return a position in the input for a message.  Characters are counted from 1. */
static int
position(ResourceParser *parser, const char *place)
{
	return pg_mbstrlen_with_len(parser->input, place - parser->input) + 1;
}

static bool
out_of_range_error(ResourceParser *parser, Token name, Token amount)
{
	ereturn(parser->escontext, false,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("amount \"%.*s\" of resource \"%.*s\" is out of range",
					amount.length, amount.start, name.length, name.start),
			 errdetail("The input was \"%s\".", whole_input(parser))));
}

static bool
name_is(Token name, const char *other)
{
	return name.length == (int) strlen(other) &&
		memcmp(name.start, other, name.length) == 0;
}

static int
not_whole_hint(Token name, Token amount)
{
	char		last = amount.start[amount.length - 1];

	/* cpu is the name of cores in Kubernetes */
	if (name_is(name, "vcores") || name_is(name, "cpu"))
		return errhint("Use \"%s\" for fractions of a core: {\"%s\": \"500m\"} is half a core.", "cpu-milli", "cpu-milli");
	if (name_is(name, "yarn.io/gpu"))
		return errhint("Use \"%s\" for fractions of a device: {\"%s\": \"500m\"} is half a device.", "gpu-milli", "gpu-milli");
	if (name_is(name, "memory-mb") && strchr("MGTPE", last) != NULL)
		return errhint("Write \"%.*si\" with a binary suffix, or whole MiB as a bare number.", amount.length, amount.start);
	if (name_is(name, "memory-mb"))
		return errhint("Write whole MiB, as a bare number or with a suffix such as Mi or Gi.");
	return 0;
}

static bool
not_whole_error(ResourceParser *parser, Token name, Token amount)
{
	ereturn(parser->escontext, false,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("amount \"%.*s\" of resource \"%.*s\" is not a whole number of its unit",
					amount.length, amount.start, name.length, name.start),
			 errdetail("The input was \"%s\".", whole_input(parser)),
			 not_whole_hint(name, amount)));
}

static bool
suffix_error(ResourceParser *parser, Token name, Token amount)
{
	ereturn(parser->escontext, false,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%s\"",
					"yquota.resource", whole_input(parser)),
			 errdetail("The amount \"%.*s\" of resource \"%.*s\" is not a number with an optional suffix.",
					   amount.length, amount.start, name.length, name.start),
			 errhint("The suffixes are m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi and Ei.")));
}

/* ------------------------------------------------------------------------
 * Amounts
 * ------------------------------------------------------------------------
 */

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
count_digits(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && is_digit(*p))
		p++;
	return p - start;
}

/* Append decimal digits to a number.  Returns false when the number no longer fits. */
static bool
append_digits(int128 *number, const char *digits, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (__builtin_mul_overflow(*number, 10, number) ||
			__builtin_add_overflow(*number, digits[i] - '0', number))
			return false;
	}
	return true;
}

/*
 * Find the factor of the suffix of an amount.  "name" is the resource type of the amount.  Returns
 * false if the suffix is unknown.
 */
static bool
apply_suffix(Token name, Token suffix, Quantity *quantity)
{
	static const char milli[] = "-milli";
	const int	milli_length = sizeof(milli) - 1;

	for (int i = 0; i < (int) lengthof(suffixes); i++)
	{
		if (!name_is(suffix, suffixes[i].name))
			continue;

		quantity->numerator = suffixes[i].numerator;
		quantity->denominator = suffixes[i].denominator;
		if (name_is(name, "memory-mb"))
			quantity->denominator *= 1024 * 1024;
		else if (name.length > milli_length &&
				 memcmp(name.start + name.length - milli_length, milli,
						milli_length) == 0)
			quantity->numerator *= 1000;
		return true;
	}
	return false;
}

/*
 * Compute number * numerator / (10^decimals * denominator), exactly.  The divisor is at most 10^24
 * * 1000 * 2^20, which is below 2^127.
 */
static bool
evaluate_quantity(ResourceParser *parser, Token name, Token amount,
				  const Quantity *quantity, int64 *result)
{
	int128		numerator = quantity->numerator;
	int128		denominator = quantity->denominator;
	int128		value;
	int128		x;
	int128		y;

	for (int i = 0; i < quantity->decimals; i++)
		denominator *= 10;

	/* cancel common factors first; then the result is whole only if the denominator divides the number */
	x = numerator;
	y = denominator;
	do
	{
		int128		remainder = x % y;

		x = y;
		y = remainder;
	} while (y != 0);
	numerator /= x;
	denominator /= x;

	if (quantity->number % denominator != 0)
		return not_whole_error(parser, name, amount);
	if (__builtin_mul_overflow(quantity->number / denominator, numerator,
							   &value))
		return out_of_range_error(parser, name, amount);
	if (quantity->negative)
		value = -value;
	if (value < PG_INT64_MIN || value > PG_INT64_MAX)
		return out_of_range_error(parser, name, amount);
	*result = (int64) value;
	return true;
}

/* Read a whole token as an amount of the resource type "name", in its native unit. */
static bool
parse_amount(ResourceParser *parser, Token name, Token amount, int64 *result)
{
	Quantity	quantity = {.numerator = 1,.denominator = 1};
	const char *p = amount.start;
	const char *end = amount.start + amount.length;
	Token		whole = {0};
	Token		decimals = {0};
	Token		suffix;

	if (p < end && (*p == '-' || *p == '+'))
		quantity.negative = (*p++ == '-');

	whole.start = p;
	whole.length = count_digits(p, end);
	p += whole.length;
	if (whole.length == 0)
		return suffix_error(parser, name, amount);

	if (p < end && *p == '.')
	{
		decimals.start = ++p;
		decimals.length = count_digits(p, end);
		p += decimals.length;
		if (decimals.length == 0)
			return suffix_error(parser, name, amount);
	}

	suffix.start = p;
	suffix.length = end - p;
	if (suffix.length > 0 && !apply_suffix(name, suffix, &quantity))
		return suffix_error(parser, name, amount);

	while (decimals.length > 0 && decimals.start[decimals.length - 1] == '0')
		decimals.length--;
	if (decimals.length > MAX_DECIMALS)
		return not_whole_error(parser, name, amount);
	quantity.decimals = decimals.length;

	if (!append_digits(&quantity.number, whole.start, whole.length) ||
		!append_digits(&quantity.number, decimals.start, decimals.length))
		return out_of_range_error(parser, name, amount);

	return evaluate_quantity(parser, name, amount, &quantity, result);
}

/* Add an entry whose name is already normalized. */
static bool
add_entry(ResourceParser *parser, Token name, Token amount)
{
	YqResourceEntry *entry = &parser->entries[parser->count];

	if (parser->count == YQ_RESOURCE_MAX_ENTRIES)
		return syntax_error(parser,
							psprintf(_("A vector holds at most %d names."),
									 YQ_RESOURCE_MAX_ENTRIES));

	for (int i = 0; i < parser->count; i++)
	{
		if (yq_resource_name_compare(parser->entries[i].name,
									 parser->entries[i].name_length,
									 name.start, name.length) == 0)
			return syntax_error(parser,
								psprintf(_("Resource \"%.*s\" is given more than once."),
										 name.length, name.start));
	}

	entry->name = name.start;
	entry->name_length = name.length;
	if (!parse_amount(parser, name, amount, &entry->amount))
		return false;
	parser->count++;
	return true;
}

/* ------------------------------------------------------------------------
 * Text
 * ------------------------------------------------------------------------
 */

static inline bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip_space(ResourceParser *parser)
{
	while (is_space(*parser->p))
		parser->p++;
}

/* Read up to white space, a delimiter or the end of the text. */
static Token
next_token(ResourceParser *parser)
{
	Token		token = {parser->p, 0};

	skip_space(parser);
	token.start = parser->p;
	while (*parser->p != '\0' && !is_space(*parser->p) &&
		   strchr("[]<>,:=", *parser->p) == NULL)
		parser->p++;
	token.length = parser->p - token.start;
	skip_space(parser);
	return token;
}

/* Read "name=amount", or "name:amount" in the log form. */
static bool
parse_entry(ResourceParser *parser, char separator)
{
	Token		name = next_token(parser);
	Token		amount;

	if (name.length == 0)
		return syntax_error(parser,
							psprintf(_("A resource name is missing at character %d."),
									 position(parser, name.start)));
	if (name.length > YQ_RESOURCE_MAX_NAME_LENGTH)
		return syntax_error(parser,
							psprintf(_("The resource name at character %d is longer than %d bytes."),
									 position(parser, name.start),
									 YQ_RESOURCE_MAX_NAME_LENGTH));
	if (*parser->p != separator)
		return syntax_error(parser,
							psprintf(_("Expected \"%c\" at character %d."),
									 separator, position(parser, parser->p)));
	if (!yq_resource_name_normalize(&name.start, &name.length))
		return syntax_error(parser,
							psprintf(_("The resource name at character %d is not printable ASCII."),
									 position(parser, name.start)));

	parser->p++;
	amount = next_token(parser);
	if (amount.length == 0)
		return syntax_error(parser,
							psprintf(_("The amount of resource \"%.*s\" is missing at character %d."),
									 name.length, name.start,
									 position(parser, amount.start)));
	return add_entry(parser, name, amount);
}

/* Read all entries of "[a=1,b=2]" or "<a:1, b:2>". */
static bool
parse_text(ResourceParser *parser)
{
	bool		log_form;
	char		closing;

	if (*parser->p != '[' && *parser->p != '<')
		ereturn(parser->escontext, false,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"", "yquota.resource", whole_input(parser)),
				 errdetail("Expected \"[\" or \"<\" at character %d.", position(parser, parser->p)),
				 errhint("Write [memory-mb=4096,vcores=2], or {\"memory-mb\": 4096, \"vcores\": 2}.")));
	log_form = (*parser->p++ == '<');
	closing = log_form ? '>' : ']';

	skip_space(parser);
	if (*parser->p != closing)
	{
		for (;;)
		{
			if (!parse_entry(parser, log_form ? ':' : '='))
				return false;
			if (*parser->p != ',')
				break;
			parser->p++;
		}
		if (*parser->p != closing)
			return syntax_error(parser,
								psprintf(_("Expected \",\" or \"%c\" at character %d."),
										 closing,
										 position(parser, parser->p)));
	}
	parser->p++;

	skip_space(parser);
	if (*parser->p != '\0')
		return syntax_error(parser,
							psprintf(_("Unexpected text at character %d, after the closing \"%c\"."),
									 position(parser, parser->p), closing));
	return true;
}

/* Return the text of a JSON number or string.  Any other JSON type is an error. */
static bool
json_amount(ResourceParser *parser, Token name, const JsonbValue *value, Token *amount)
{
	switch (value->type)
	{
		case jbvNumeric:
			amount->start = DatumGetCString(DirectFunctionCall1(numeric_out,
																NumericGetDatum(value->val.numeric)));
			amount->length = strlen(amount->start);
			return true;
		case jbvString:
			amount->start = value->val.string.val;
			amount->length = value->val.string.len;
			return true;
		default:
			ereturn(parser->escontext, false,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("amount of resource \"%.*s\" is neither a number nor a string",
							name.length, name.start),
					 errdetail("The input was \"%s\".", whole_input(parser))));
	}
}

/* Read all members of a JSON object. */
static bool
parse_json(ResourceParser *parser)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	Token		name = {0};
	Token		amount;

	if (!JB_ROOT_IS_OBJECT(parser->json))
		ereturn(parser->escontext, false,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("resource vector must be a JSON object"),
				 errdetail("The input was \"%s\".", whole_input(parser)),
				 errhint("Write an object of names and amounts, such as {\"memory-mb\": 4096, \"vcores\": 2}.")));

	iterator = JsonbIteratorInit(&parser->json->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			name.start = value.val.string.val;
			name.length = value.val.string.len;
			if (!yq_resource_name_normalize(&name.start, &name.length))
				return syntax_error(parser,
									psprintf(_("\"%.*s\" is not a resource name."),
											 name.length, name.start));
		}
		else if (token == WJB_VALUE &&
				 (!json_amount(parser, name, &value, &amount) || !add_entry(parser, name, amount)))
			return false;
	}
	return true;
}

char *
yq_resource_to_cstring(const YqResource *resource)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoChar(&text, '[');
	for (int i = 0; i < count; i++)
	{
		if (i > 0)
			appendStringInfoChar(&text, ',');
		appendBinaryStringInfo(&text, entries[i].name, entries[i].name_length);
		appendStringInfo(&text, "=" INT64_FORMAT, entries[i].amount);
	}
	appendStringInfoChar(&text, ']');
	return text.data;
}

PG_FUNCTION_INFO_V1(yq_sql_resource_in);
Datum
yq_sql_resource_in(PG_FUNCTION_ARGS)
{
	ResourceParser parser;
	Datum		json;

	parser.input = PG_GETARG_CSTRING(0);
	parser.json = NULL;
	parser.p = parser.input;
	parser.escontext = (Node *) fcinfo->context;
	parser.count = 0;

	skip_space(&parser);
	if (*parser.p == '{')
	{
		if (!DirectInputFunctionCallSafe(jsonb_in, (char *) parser.input, JSONBOID, -1, parser.escontext, &json))
			PG_RETURN_NULL();
		parser.json = DatumGetJsonbP(json);
		if (!parse_json(&parser))
			PG_RETURN_NULL();
	}
	else if (!parse_text(&parser))
		PG_RETURN_NULL();
	PG_RETURN_YQ_RESOURCE_P(yq_resource_make(parser.entries, parser.count));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_out);
Datum
yq_sql_resource_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(yq_resource_to_cstring(PG_GETARG_YQ_RESOURCE_P(0)));
}

/* ------------------------------------------------------------------------
 * Binary
 * ------------------------------------------------------------------------
 */

static void
binary_error(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid binary representation of type %s",
					"yquota.resource"),
			 errdetail_internal("%s", detail)));
}

/* Read and check an entry.  "previous" is the entry before it, or NULL for the first entry. */
static void
receive_entry(StringInfo message, const YqResourceEntry *previous,
			  YqResourceEntry *entry)
{
	const char *normalized;
	int			normalized_length;

	entry->name_length = pq_getmsgbyte(message);
	entry->name = pq_getmsgbytes(message, entry->name_length);
	entry->amount = pq_getmsgint64(message);

	normalized = entry->name;
	normalized_length = entry->name_length;
	if (!yq_resource_name_normalize(&normalized, &normalized_length) ||
		normalized != entry->name)
		binary_error(_("An entry has an invalid resource name."));
	if (entry->amount == 0)
		binary_error(_("An entry has the amount 0."));
	if (previous != NULL &&
		yq_resource_name_compare(previous->name, previous->name_length,
								 entry->name, entry->name_length) >= 0)
		binary_error(_("Names are not in ascending order."));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_recv);
Datum
yq_sql_resource_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			version = pq_getmsgbyte(message);
	int			count;

	if (version != BINARY_VERSION)
		binary_error(psprintf(_("Version %d is not supported, only %d."),
							  version, BINARY_VERSION));
	count = pq_getmsgbyte(message);
	if (count > YQ_RESOURCE_MAX_ENTRIES)
		binary_error(psprintf(_("It has %d entries, the limit is %d."),
							  count, YQ_RESOURCE_MAX_ENTRIES));

	for (int i = 0; i < count; i++)
		receive_entry(message, i > 0 ? &entries[i - 1] : NULL, &entries[i]);

	PG_RETURN_YQ_RESOURCE_P(yq_resource_make(entries, count));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_send);
Datum
yq_sql_resource_send(PG_FUNCTION_ARGS)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(PG_GETARG_YQ_RESOURCE_P(0), entries);
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendbyte(&message, BINARY_VERSION);
	pq_sendbyte(&message, count);
	for (int i = 0; i < count; i++)
	{
		pq_sendbyte(&message, entries[i].name_length);
		pq_sendbytes(&message, entries[i].name, entries[i].name_length);
		pq_sendint64(&message, entries[i].amount);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* ------------------------------------------------------------------------
 * JSON
 * ------------------------------------------------------------------------
 */

PG_FUNCTION_INFO_V1(yq_sql_resource_from_jsonb);
Datum
yq_sql_resource_from_jsonb(PG_FUNCTION_ARGS)
{
	ResourceParser parser;

	parser.input = NULL;
	parser.json = PG_GETARG_JSONB_P(0);
	parser.p = NULL;
	parser.escontext = NULL;
	parser.count = 0;

	(void) parse_json(&parser);
	PG_RETURN_YQ_RESOURCE_P(yq_resource_make(parser.entries, parser.count));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_to_jsonb);
Datum
yq_sql_resource_to_jsonb(PG_FUNCTION_ARGS)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(PG_GETARG_YQ_RESOURCE_P(0), entries);
	JsonbParseState *state = NULL;
	JsonbValue *object;

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < count; i++)
	{
		JsonbValue	key;
		JsonbValue	value;

		key.type = jbvString;
		key.val.string.val = unconstify(char *, entries[i].name);
		key.val.string.len = entries[i].name_length;
		(void) pushJsonbValue(&state, WJB_KEY, &key);

		value.type = jbvNumeric;
		value.val.numeric = int64_to_numeric(entries[i].amount);
		(void) pushJsonbValue(&state, WJB_VALUE, &value);
	}
	object = pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	PG_RETURN_POINTER(JsonbValueToJsonb(object));
}

/*-------------------------------------------------------------------------
 *
 * capacity.c
 *	  Notations of capacity and maximum-capacity.
 *
 * Numbers follow Java: a percentage or weight is a 32-bit float, and an absolute amount
 * is a whole number with an optional unit.  The unit always converts to MiB, even for
 * types other than memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <ctype.h>
#include <errno.h>

#include "common/int.h"
#include "queues/calculator.h"
#include "queues/capacity.h"

/* Units of Hadoop's amounts, each as a fraction (numerator / denominator) of a byte. */
static const struct
{
	const char *name;
	int64		numerator;
	int64		denominator;
}			units[] =
{
	{"p", 1, INT64CONST(1000000000000)},
	{"n", 1, INT64CONST(1000000000)},
	{"u", 1, INT64CONST(1000000)},
	{"m", 1, INT64CONST(1000)},
	{"", 1, 1},
	{"k", INT64CONST(1000), 1},
	{"M", INT64CONST(1000000), 1},
	{"G", INT64CONST(1000000000), 1},
	{"T", INT64CONST(1000000000000), 1},
	{"P", INT64CONST(1000000000000000), 1},
	{"Ki", INT64CONST(1) << 10, 1},
	{"Mi", INT64CONST(1) << 20, 1},
	{"Gi", INT64CONST(1) << 30, 1},
	{"Ti", INT64CONST(1) << 40, 1},
	{"Pi", INT64CONST(1) << 50, 1},
};

static int
find_unit(const char *name)
{
	for (int i = 0; i < (int) lengthof(units); i++)
	{
		if (strcmp(units[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* Convert an amount with a unit to MiB.  Returns false if the result does not fit into int64. */
static bool
convert_to_mebi(int unit, int64 amount, int64 *result)
{
	int128		converted = (int128) amount * units[unit].numerator /
		((int128) units[unit].denominator << 20);

	if (converted > PG_INT64_MAX || converted < PG_INT64_MIN)
		return false;
	*result = (int64) converted;
	return true;
}

static int
find_amount_type(const char *name, const char *const *names, int types)
{
	if (strcmp(name, "memory") == 0)
		return YQ_MEMORY;
	for (int i = 0; i < types; i++)
	{
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/* Read a whole number.  As in Long.valueOf(), no other text may follow the number. */
static bool
read_whole_number(const char *text, int64 *result)
{
	char	   *end;

	if (*text == '\0' || isspace((unsigned char) *text))
		return false;
	errno = 0;
	*result = strtoll(text, &end, 10);
	return *end == '\0' && errno == 0;
}

/* Read a number.  As in Float.parseFloat(), no other text may follow the number. */
static bool
read_float(const char *text, float4 *result)
{
	char	   *end;

	*result = strtof(text, &end);
	if (end == text)
		return false;
	if (*end == 'f' || *end == 'F' || *end == 'd' || *end == 'D')
		end++;
	return *end == '\0';
}

static char *
trim(char *text)
{
	char	   *end = text + strlen(text);

	while (*text == ' ')
		text++;
	while (end > text && end[-1] == ' ')
		*--end = '\0';
	return text;
}

/* -- the reader of absolute amounts --------------------------------------- */

/*
 * Read a pair of resource type and amount.  A pair with an unknown type is skipped.  An
 * amount that is not a whole number is an error.
 */
static void
read_absolute_amount(YqCapacity *capacity, int64 *amounts, char *name, char *value,
					 const char *const *names, int types)
{
	int			type = find_amount_type(trim(name), names, types);
	char	   *unit = value + strlen(value);
	int			unit_number;
	int64		amount;

	if (type < 0)
		return;
	while (unit > value && isalpha((unsigned char) unit[-1]))
		unit--;
	unit_number = find_unit(unit);
	if (unit_number < 0)
		return;
	if (!read_whole_number(pnstrdup(value, unit - value), &amount) ||
		(*unit != '\0' && !convert_to_mebi(unit_number, amount, &amount)))
	{
		capacity->problem = psprintf("For input string: \"%s\"", value);
		return;
	}
	amounts[type] = amount;
}

/* Callback that receives each pair of name and value between the brackets. */
typedef void (*PairReader) (YqCapacity *capacity, int64 *amounts, char *name, char *value,
							const char *const *names, int types);

static void
read_pairs(YqCapacity *capacity, int64 *amounts, const char *text, PairReader reader,
		   const char *const *names, int types)
{
	char	   *rest = pnstrdup(text + 1, strlen(text) - 2);

	while (rest != NULL)
	{
		char	   *pair = strsep(&rest, ",");
		char	   *name = strsep(&pair, "=");
		char	   *value = strsep(&pair, "=");

		if (value != NULL && *value != '\0')
			reader(capacity, amounts, name, value, names, types);
	}
}

static void
read_amounts(YqCapacity *capacity, const char *const *names, int types)
{
	int64	   *amounts = palloc0(types * sizeof(int64));

	read_pairs(capacity, amounts, capacity->text, read_absolute_amount, names, types);
	/* an absolute capacity without memory counts as no capacity */
	if (amounts[YQ_MEMORY] != 0)
		capacity->amounts = amounts;
}

/* -- the reader of vectors ------------------------------------------------ */

static void
read_entry(YqCapacity *capacity, int64 *unused, char *name, char *value,
		   const char *const *names, int types)
{
	int			type = find_amount_type(name, names, types);
	char	   *suffix = value;
	YqCapacityEntry *entry;
	int			unit;
	float4		number;

	while (isdigit((unsigned char) *suffix) || *suffix == '.')
		suffix++;
	if (strpbrk(suffix, "0123456789.") != NULL || type < 0)
		return;
	if (!read_float(pnstrdup(value, suffix - value), &number))
	{
		capacity->problem = psprintf("For input string: \"%s\"", value);
		return;
	}

	entry = &capacity->vector[type];
	entry->unit = YQ_CAPACITY_ABSOLUTE;
	entry->value = number;
	unit = find_unit(suffix);
	if (*suffix != '\0' && unit >= 0)
	{
		int64		converted = 0;

		if (!convert_to_mebi(unit, (int64) number, &converted))
			capacity->problem = psprintf("For input string: \"%s\"", value);
		entry->value = (float4) converted;
	}
	else if (strcmp(suffix, "%") == 0)
		entry->unit = YQ_CAPACITY_PERCENT;
	else if (strcmp(suffix, "w") == 0)
		entry->unit = YQ_CAPACITY_WEIGHT;
}

static char *
without_blanks(const char *text)
{
	char	   *result = palloc(strlen(text) + 1);
	char	   *to = result;

	for (; *text != '\0'; text++)
	{
		if (*text != ' ')
			*to++ = *text;
	}
	*to = '\0';
	return result;
}

static bool
has_pairs(const char *text)
{
	return strchr(text, '=') != NULL;
}

static void
read_vector(YqCapacity *capacity, const char *const *names, int types)
{
	capacity->vector = palloc(types * sizeof(YqCapacityEntry));
	for (int i = 0; i < types; i++)
	{
		capacity->vector[i].unit = YQ_CAPACITY_ABSOLUTE;
		capacity->vector[i].value = 0;
	}
	read_pairs(capacity, NULL, without_blanks(capacity->text), read_entry, names, types);
	if (capacity->vector[YQ_MEMORY].value == 0)
		capacity->vector = NULL;
}

/* Set all resource types to the same number. */
static void
set_uniform_vector(YqCapacity *capacity, YqCapacityUnit unit, float4 value, int types)
{
	capacity->vector = palloc(types * sizeof(YqCapacityEntry));
	for (int i = 0; i < types; i++)
	{
		capacity->vector[i].unit = unit;
		capacity->vector[i].value = value;
	}
}

YqCapacityUnit
yq_capacity_uniform_unit(const YqCapacity *capacity, int types)
{
	if (capacity->vector == NULL)
		return YQ_CAPACITY_NONE;
	for (int i = 1; i < types; i++)
	{
		if (capacity->vector[i].unit != capacity->vector[0].unit)
			return YQ_CAPACITY_NONE;
	}
	return capacity->vector[0].unit;
}

/* -- both ----------------------------------------------------------------- */

/* Read a capacity in brackets, for example [memory=10240,vcores=12] or [memory=50%,vcores=2w]. */
static void
parse_bracketed(YqCapacity *capacity, const char *const *names, int types)
{
	capacity->is_absolute = strchr(capacity->text, '%') == NULL;
	if (capacity->is_absolute)
		read_amounts(capacity, names, types);
	if (has_pairs(capacity->text))
		read_vector(capacity, names, types);

	/* if all weights of a vector are equal, the vector means the same as a single weight */
	if (capacity->vector != NULL &&
		yq_capacity_uniform_unit(capacity, types) == YQ_CAPACITY_WEIGHT)
	{
		for (int i = 1; i < types; i++)
		{
			if (capacity->vector[i].value != capacity->vector[0].value)
				return;
		}
		capacity->weight = (float4) capacity->vector[0].value;
	}
}

void
yq_capacity_parse(YqCapacity *capacity, const char *text, const char *const *names, int types)
{
	Size		length = text == NULL ? 0 : strlen(text);

	memset(capacity, 0, sizeof(YqCapacity));
	capacity->text = text;
	capacity->weight = -1;
	if (length == 0)
		capacity->is_percent = true;
	else if (text[0] == '[' && text[length - 1] == ']')
		parse_bracketed(capacity, names, types);
	else if (text[length - 1] == 'w')
	{
		if (!read_float(pnstrdup(text, length - 1), &capacity->weight))
			capacity->problem = psprintf("For input string: \"%s\"", text);
		if (isdigit((unsigned char) text[0]) || text[0] == '.')
			set_uniform_vector(capacity, YQ_CAPACITY_WEIGHT, capacity->weight, types);
	}
	else
	{
		capacity->is_percent = true;
		if (!read_float(text, &capacity->number))
			capacity->problem = psprintf("For input string: \"%s\"", text);
		if (strspn(text, "0123456789.") == length)
			set_uniform_vector(capacity, YQ_CAPACITY_PERCENT, capacity->number, types);
	}
}

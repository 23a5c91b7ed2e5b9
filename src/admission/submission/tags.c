/*-------------------------------------------------------------------------
 *
 * tags.c
 *	  Tags of applications, by which reports group costs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/tags.h"
#include "base/arguments.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"

PG_FUNCTION_INFO_V1(yq_sql_read_tags);

#define MAX_TAGS 50

/* Length limit of keys and values, in bytes. */
#define TAG_MAX_BYTES 255

/* Number of characters of a tag in an error message. */
#define SHOWN_CHARACTERS 40

typedef struct Tag
{
	JsonbValue	key;
	JsonbValue	value;
} Tag;

static JsonbValue
string_value(const char *start, size_t length)
{
	return (JsonbValue) {.type = jbvString, .val.string = {.len = (int) length, .val = (char *) start}};
}

static Tag
read_tag(const char *tag)
{
	size_t		length = strlen(tag);
	size_t		key_length = strcspn(tag, "=");
	const char *value = tag + Min(key_length + 1, length);
	int			shown = pg_mbcharcliplen(tag, (int) length, SHOWN_CHARACTERS);

	if (key_length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tag \"%.*s\" has no key", shown, tag),
				 errhint("Write key=value, or only the key.")));
	if (key_length > TAG_MAX_BYTES || strlen(value) > TAG_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tag \"%.*s...\" is too long", shown, tag),
				 errdetail("The key and the value of a tag have at most %d bytes each.", TAG_MAX_BYTES)));
	return (Tag) {.key = string_value(tag, key_length), .value = string_value(value, strlen(value))};
}

static void
check_new_key(const Tag *tags, int count, const JsonbValue *key)
{
	for (int i = 0; i < count; i++)
	{
		if (tags[i].key.val.string.len == key->val.string.len &&
			memcmp(tags[i].key.val.string.val, key->val.string.val, key->val.string.len) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("duplicate key \"%.*s\" in tags", key->val.string.len, key->val.string.val),
					 errhint("An application has one value for each key.")));
	}
}

Jsonb *
yq_tags_read(const char *const *texts, int count)
{
	Tag			tags[MAX_TAGS];
	JsonbParseState *state = NULL;

	if (count > MAX_TAGS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("too many tags"),
				 errdetail("There are %d tags; a call has at most %d.", count, MAX_TAGS)));
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < count; i++)
	{
		tags[i] = read_tag(texts[i]);
		check_new_key(tags, i, &tags[i].key);
		pushJsonbValue(&state, WJB_KEY, &tags[i].key);
		pushJsonbValue(&state, WJB_VALUE, &tags[i].value);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* read_tags(tags) */
Datum
yq_sql_read_tags(PG_FUNCTION_ARGS)
{
	const char **tags;
	int			count = yq_text_array(fcinfo, 0, "tags", &tags);

	PG_RETURN_JSONB_P(yq_tags_read(tags, count));
}

/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Fuzz targets of other text: the payer of an event, and settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "charging/event.h"
#include "fuzz.h"

/* Return the place of the first double underscore, or of the string's end. */
static size_t
before_separator(const char *text)
{
	size_t		length = 0;

	while (text[length] != '\0' && !(text[length] == '_' && text[length + 1] == '_'))
		length++;
	return length;
}

static bool
is_text(const text *value, const char *expected, size_t length)
{
	return VARSIZE_ANY_EXHDR(value) == length && memcmp(VARDATA_ANY(value), expected, length) == 0;
}

/* A user's name, read as project__user. */
void
yq_fuzz_payer(YqFuzzInput *input)
{
	char	   *name = yq_fuzz_string(input);
	YqEvent		event = {0};
	text	   *project;
	text	   *username;
	size_t		length;

	if (name == NULL)
		return;
	event.username = cstring_to_text(name);
	yq_event_payer(&event, &project, &username);

	length = before_separator(name);
	YQ_FUZZ_CHECK(is_text(project, name, length));
	if (name[length] == '\0')
		YQ_FUZZ_CHECK(is_text(username, name, length));
	else
		YQ_FUZZ_CHECK(is_text(username, name + length + 2, before_separator(name + length + 2)));
}

static const char *const settings[] = {
	"yquota.auto_create_project", "yquota.cluster_shrink_grace",
	"yquota.compute_interval", "yquota.max_clock_skew", "yquota.max_event_age", "yquota.on_bad_event", "yquota.outage_max",
	"yquota.outage_policy", "yquota.outage_threshold", "yquota.price_interval", "yquota.price_lead",
	"yquota.utilization_max_age",
};

/* Set a setting as the configuration file does. */
static void
set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_SIGHUP, PGC_S_SESSION, GUC_ACTION_SET, true, ERROR, false);
}

/* A setting and its value: a value that is shown can be set again. */
void
yq_fuzz_setting(YqFuzzInput *input)
{
	const char *name = settings[yq_fuzz_byte(input) % lengthof(settings)];
	char	   *value = yq_fuzz_string(input);
	char	   *shown;

	if (value == NULL)
		return;
	set(name, value);
	shown = GetConfigOptionByName(name, NULL, false);
	set(name, shown);
	YQ_FUZZ_CHECK(strcmp(GetConfigOptionByName(name, NULL, false), shown) == 0);
}

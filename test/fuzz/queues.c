/*-------------------------------------------------------------------------
 *
 * queues.c
 *	  Fuzz targets of the configuration of queues: files of Hadoop, capacities,
 *	  and lists of users.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"

#include "base/compat.h"
#include "fuzz.h"
#include "admission/access/access.h"
#include "queues/acl.h"
#include "queues/capacity.h"
#include "queues/hadoop_xml.h"

/* -- files ----------------------------------------------------------------- */

/* Properties of a document, written again as another document with the same meaning. */
typedef struct Copy
{
	StringInfoData document;
	StringInfoData said;		/* the properties with their lengths */
} Copy;

static void
write_escaped(StringInfo into, const char *data, int length)
{
	for (int i = 0; i < length; i++)
	{
		switch (data[i])
		{
			case '&':
				appendStringInfoString(into, "&amp;");
				break;
			case '<':
				appendStringInfoString(into, "&lt;");
				break;
			case '>':
				appendStringInfoString(into, "&gt;");
				break;
			case '\r':
				appendStringInfoString(into, "&#13;");
				break;
			default:
				appendStringInfoChar(into, data[i]);
		}
	}
}

static void
copy_property(const YqHadoopProperty *property, void *argument)
{
	Copy	   *copy = argument;
	StringInfo	into = &copy->document;

	YQ_FUZZ_CHECK(property->name != NULL || property->value == NULL);
	YQ_FUZZ_CHECK(property->value == NULL || property->value_length > 0);
	appendStringInfo(&copy->said, "%d %d %d ", property->name == NULL ? -1 : property->name_length,
					 property->value == NULL ? -1 : property->value_length, property->final);
	if (property->name == NULL)
	{
		appendStringInfoString(into, "<include/>");
		return;
	}
	appendBinaryStringInfo(&copy->said, property->name, property->name_length);
	appendStringInfoString(into, "<property><name>");
	write_escaped(into, property->name, property->name_length);
	appendStringInfoString(into, "</name>");
	if (property->value != NULL)
	{
		appendBinaryStringInfo(&copy->said, property->value, property->value_length);
		appendStringInfoString(into, "<value>");
		write_escaped(into, property->value, property->value_length);
		appendStringInfoString(into, "</value>");
	}
	appendStringInfo(into, "<final>%s</final></property>", property->final ? "true" : "false");
}

static Copy
copy_document(const char *document)
{
	Copy		copy;

	initStringInfo(&copy.document);
	initStringInfo(&copy.said);
	appendStringInfoString(&copy.document, "<configuration>");
	yq_hadoop_xml_read(document, copy_property, &copy);
	appendStringInfoString(&copy.document, "</configuration>");
	return copy;
}

/* The contents of a file, written again, must be read as the same contents. */
void
yq_fuzz_hadoop_xml(YqFuzzInput *input)
{
	char	   *document = yq_fuzz_string(input);
	Copy		first;
	Copy		second;

	if (document == NULL)
		return;
	first = copy_document(document);
	second = copy_document(first.document.data);
	YQ_FUZZ_CHECK(first.said.len == second.said.len &&
				  memcmp(first.said.data, second.said.data, first.said.len) == 0);
}

/* -- capacities ------------------------------------------------------------ */

static const char *const types[] = {"memory-mb", "vcores", "yarn.io/gpu"};

/* Every capacity text gives one of three modes, with finite numbers. */
void
yq_fuzz_capacity(YqFuzzInput *input)
{
	char	   *text = yq_fuzz_string(input);
	YqCapacity	capacity;

	if (text == NULL)
		return;
	yq_capacity_parse(&capacity, text, types, lengthof(types));
	YQ_FUZZ_CHECK(strcmp(capacity.text, text) == 0);
	YQ_FUZZ_CHECK(capacity.amounts == NULL || capacity.is_absolute);
	YQ_FUZZ_CHECK(!capacity.is_percent || (capacity.amounts == NULL && capacity.weight == -1));
	if (capacity.problem != NULL || capacity.vector == NULL)
		return;
	for (int i = 0; i < (int) lengthof(types); i++)
		YQ_FUZZ_CHECK(capacity.vector[i].unit == YQ_CAPACITY_NONE || !isnan(capacity.vector[i].value));
	(void) yq_capacity_uniform_unit(&capacity, lengthof(types));
}

/* -- lists ----------------------------------------------------------------- */

/* Check that each user and group on a list matches, and no other name. */
static void
check_acl(const YqAcl *acl)
{
	const char *name;
	YqSubject	subject = {.groups_known = true};

	YQ_FUZZ_CHECK(!acl->everybody || (acl->user_count == 0 && acl->group_count == 0));
	for (int i = 0; i < acl->user_count; i++)
	{
		subject.username = acl->users[i];
		YQ_FUZZ_CHECK(yq_acl_match(acl, &subject, &name) == YQ_ACL_USER && name == subject.username);
	}
	/* a name with a byte that no text has */
	subject.username = "\xFF";
	YQ_FUZZ_CHECK(yq_acl_match(acl, &subject, &name) == (acl->everybody ? YQ_ACL_EVERYBODY : YQ_ACL_NOBODY));
	subject.group_count = 1;
	for (int i = 0; i < acl->group_count; i++)
	{
		subject.groups = &acl->groups[i];
		YQ_FUZZ_CHECK(yq_acl_match(acl, &subject, &name) == YQ_ACL_GROUP);
	}
}

void
yq_fuzz_acl(YqFuzzInput *input)
{
	char	   *text = yq_fuzz_string(input);

	if (text != NULL)
		check_acl(yq_acl_parse(text));
}

/* Check that groups have falling maxima, none of which exceeds the cluster's maximum. */
void
yq_fuzz_priority_acl(YqFuzzInput *input)
{
	int32		most = yq_fuzz_byte(input);
	char	   *text = yq_fuzz_string(input);
	List	   *groups = NIL;
	ListCell   *cell;
	int32		previous = PG_INT32_MAX;

	if (text == NULL || yq_priority_acl_parse(text, most, &groups) != NULL)
		return;
	foreach(cell, groups)
	{
		const YqPriorityGroup *group = lfirst(cell);

		YQ_FUZZ_CHECK(group->max_priority <= previous);
		previous = group->max_priority;
		if (group->acl != NULL)
			check_acl(group->acl);
	}
}

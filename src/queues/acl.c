/*-------------------------------------------------------------------------
 *
 * acl.c
 *	  Lists of users and groups as Hadoop writes them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_collation_d.h"
#include "lib/qunique.h"
#include "queues/acl.h"
#include "utils/formatting.h"

const char *const yq_acl_columns[YQ_QUEUE_OPERATION_COUNT] = {
	[YQ_SUBMIT_APPLICATIONS] = "acl_submit_applications",
	[YQ_ADMINISTER_QUEUE] = "acl_administer_queue",
	[YQ_ADMINISTER_RESERVATIONS] = "acl_administer_reservations",
	[YQ_LIST_RESERVATIONS] = "acl_list_reservations",
	[YQ_SUBMIT_RESERVATIONS] = "acl_submit_reservations",
};

char *
yq_trim(const char *begin, const char *end)
{
	while (begin < end && (unsigned char) *begin <= ' ')
		begin++;
	while (end > begin && (unsigned char) end[-1] <= ' ')
		end--;
	return pnstrdup(begin, end - begin);
}

char *
yq_lower_case(const char *text)
{
	char	   *folded = asc_tolower(text, strlen(text));

	return str_tolower(folded, strlen(folded), DEFAULT_COLLATION_OID);
}

static bool
is_everybody(const char *begin, const char *end)
{
	char	   *part = yq_trim(begin, end);
	bool		everybody = strcmp(part, "*") == 0;

	pfree(part);
	return everybody;
}

/* Return the names in one part of an access list (its users or its groups), sorted and without duplicates. */
static const char **
parse_names(const char *begin, const char *end, int *count)
{
	int			room = 1;
	const char **names;
	int			n = 0;

	for (const char *c = begin; c < end; c++)
		room += (*c == ',' || *c == '\n');
	names = palloc(room * sizeof(char *));
	while (begin <= end)
	{
		const char *stop = begin;

		while (stop < end && *stop != ',' && *stop != '\n')
			stop++;
		names[n] = yq_trim(begin, stop);
		if (names[n][0] != '\0')
			n++;
		begin = stop + 1;
	}
	qsort(names, n, sizeof(char *), pg_qsort_strcmp);
	*count = (int) qunique(names, n, sizeof(char *), pg_qsort_strcmp);
	return names;
}

YqAcl *
yq_acl_parse(const char *text)
{
	YqAcl	   *acl = palloc0(sizeof(YqAcl));
	const char *end = text + strlen(text);
	const char *blank = strchr(text, ' ');
	const char *users_end = blank == NULL ? end : blank;

	acl->everybody = is_everybody(text, users_end) ||
		(blank != NULL && is_everybody(blank + 1, end));
	if (acl->everybody)
		return acl;
	acl->users = parse_names(text, users_end, &acl->user_count);
	if (blank != NULL)
		acl->groups = parse_names(blank + 1, end, &acl->group_count);
	return acl;
}

static bool
has_name(const char **names, int count, const char *name)
{
	return count > 0 && bsearch(&name, names, count, sizeof(char *), pg_qsort_strcmp) != NULL;
}

YqAclMatch
yq_acl_match(const YqAcl *acl, const YqSubject *subject, const char **name)
{
	if (acl->everybody)
		return YQ_ACL_EVERYBODY;
	*name = subject->username;
	if (has_name(acl->users, acl->user_count, subject->username))
		return YQ_ACL_USER;
	for (int i = 0; acl->group_count > 0 && i < subject->group_count; i++)
	{
		*name = subject->groups[i];
		if (has_name(acl->groups, acl->group_count, subject->groups[i]))
			return YQ_ACL_GROUP;
	}
	if (subject->real_username != NULL && acl->user_count > 0)
	{
		char	   *marked = psprintf("~%s", subject->real_username);

		*name = subject->real_username;
		if (has_name(acl->users, acl->user_count, marked))
			return YQ_ACL_REAL_USER;
	}
	return YQ_ACL_NOBODY;
}

char *
yq_acl_match_text(YqAclMatch match, const char *name)
{
	switch (match)
	{
		case YQ_ACL_EVERYBODY:
			return pstrdup("every user");
		case YQ_ACL_USER:
			return psprintf("user \"%s\"", name);
		case YQ_ACL_REAL_USER:
			return psprintf("real user \"%s\"", name);
		case YQ_ACL_GROUP:
			return psprintf("group \"%s\"", name);
		case YQ_ACL_NOBODY:
			break;
	}
	return pstrdup("no user");
}

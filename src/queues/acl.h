/*-------------------------------------------------------------------------
 *
 * acl.h
 *	  Lists of users and groups as Hadoop writes them: "user1,user2 group1".
 *
 * The reader follows Hadoop 3.4.1, checked by running its AccessControlList.  The text
 * before the first blank lists users, and the rest lists groups.  Commas or newlines
 * separate the names, which are trimmed.  If the whole text of users or groups is "*",
 * the list is open to every user; a "*" among other names is an ordinary name.  The
 * reader accepts every list: a name that cannot exist matches no user.  An entry ~name
 * matches every user whom the real user of that name impersonates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ACL_H
#define YQ_ACL_H

#include "base/compat.h"

typedef struct YqAcl
{
	bool		everybody;
	int			user_count;
	int			group_count;
	const char **users;			/* sorted */
	const char **groups;		/* sorted */
} YqAcl;

/* A user and the user's groups, in the given order.  The primary group comes first. */
typedef struct YqSubject
{
	const char *username;
	const char *real_username;	/* real user who impersonates this user (Hadoop's proxy user); NULL: there is none */
	bool		groups_known;
	int			group_count;
	const char **groups;
} YqSubject;

/* Hadoop's operations on a queue, in the order of the columns of yquota.queue that store their access lists. */
typedef enum YqQueueOperation
{
	YQ_SUBMIT_APPLICATIONS,
	YQ_ADMINISTER_QUEUE,
	YQ_ADMINISTER_RESERVATIONS,
	YQ_LIST_RESERVATIONS,
	YQ_SUBMIT_RESERVATIONS,
	YQ_QUEUE_OPERATION_COUNT
} YqQueueOperation;

/* Columns of yquota.queue that store the access lists of the operations. */
extern const char *const yq_acl_columns[YQ_QUEUE_OPERATION_COUNT];

typedef enum YqAclMatch
{
	YQ_ACL_NOBODY,				/* no match */
	YQ_ACL_EVERYBODY,
	YQ_ACL_USER,
	YQ_ACL_REAL_USER,
	YQ_ACL_GROUP
} YqAclMatch;

/* Parse an access list.  The result is allocated in the current memory context. */
extern YqAcl *yq_acl_parse(const char *text);

/* Return which entry of an access list admits a user.  Sets *name to the matching user or group. */
extern YqAclMatch yq_acl_match(const YqAcl *acl, const YqSubject *subject, const char **name);

/* Describe a match as part of a sentence, for example: user "alice", or everybody. */
extern char *yq_acl_match_text(YqAclMatch match, const char *name);

/* Trim a string as Java's String.trim() does. */
extern char *yq_trim(const char *begin, const char *end);

/*
 * Convert to lower case as Java does for the root locale.  ASCII letters are converted
 * without a collation; other letters follow the database's collation.
 */
extern char *yq_lower_case(const char *text);

#endif							/* YQ_ACL_H */

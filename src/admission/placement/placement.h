/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  Placing applications in queues (semantics/placement).
 *
 * Decided as the mapping engine of Hadoop 3.4.1 does.  Rules are asked in
 * order; the first that matches and whose queue can be used, or whose fallback
 * is not to skip, decides.  Rules are asked when the submission names no queue
 * ("default"; naming root.default counts) or when
 * queue-mappings-override.enable is on.  When no rule decides, the named queue
 * is taken.
 *
 * Rules are compiled once per change: those that compare a name without variables
 * are found by that name, so that a decision does not look at the others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLACEMENT_H
#define YQ_PLACEMENT_H

#include "queues/hierarchy.h"
#include "queues/mapping_rule.h"

/* The queue name that clients send when the user names none. */
#define YQ_UNNAMED_QUEUE "default"

typedef enum YqPlacementOutcome
{
	YQ_PLACED,					/* by a rule */
	YQ_PLACED_BY_DEFAULT,		/* by a rule's fallback */
	YQ_PLACED_AS_NAMED,			/* no rule decided */
	YQ_PLACEMENT_REJECTED,		/* by a rule */
	YQ_PLACEMENT_UNKNOWN		/* no rule decided, and the named queue cannot take it */
} YqPlacementOutcome;

/* A rule that matched and did not decide; its number is that in the mapping rules of the hierarchy. */
typedef struct YqSkippedRule
{
	int			number;
	char	   *reason;
} YqSkippedRule;

typedef struct YqPlacement
{
	YqPlacementOutcome outcome;
	const char *queue;			/* full path; NULL when there is none */
	bool		must_create;
	int			rule;			/* its number; -1 for none */
	char	   *reason;
	List	   *skipped;		/* YqSkippedRule, in order */
	int			rules_asked;	/* how many rules came before the decision */
} YqPlacement;

typedef struct YqApplicant
{
	const YqSubject *subject;
	const char *queue;			/* as submitted */
	const char *application_name;
} YqApplicant;

/*
 * Choose the queue in the hierarchy of yq_hierarchy_get().  The result is
 * palloc'd, or valid as long as the hierarchy.
 */
extern YqPlacement yq_place_application(const YqHierarchy *hierarchy, const YqApplicant *applicant);

/* How one rule is evaluated in the explanation of a decision. */
typedef struct YqRuleTrace
{
	bool		matches;
	const char *target;			/* with variables replaced; NULL if there is none */
	bool		decides;
	char	   *reason;
} YqRuleTrace;

/*
 * Evaluate all rules one after the other, without looking them up by name.  Calls "report"
 * for each up to and including the one that decides.
 */
extern void yq_placement_trace(const YqHierarchy *hierarchy, const YqApplicant *applicant,
							   void (*report) (void *state, const YqMappingRule *rule, const YqRuleTrace *trace),
							   void *state);

/*
 * Add the problems of rules and priority lists to a list of YqViolation, if
 * this transaction has changed rows that they depend on.
 */
extern List *yq_placement_validate(List *violations);

/* -- for placement_check.c ------------------------------------------------- */

typedef enum YqPathVerdict
{
	YQ_PATH_EXISTS,
	YQ_PATH_CREATABLE,
	YQ_PATH_IMPOSSIBLE
} YqPathVerdict;

/* Java's split at dots: no empty parts at the end, but "" is one empty part. */
extern List *yq_path_split(const char *path);
extern char *yq_path_join(List *parts);

/* The path with blanks removed around its last dot. */
extern char *yq_path_tidy(const char *path);

/* Put the full path for a short name in front; returns the problem, or NULL. */
extern char *yq_path_normalize_root(const YqHierarchy *hierarchy, const char *path, char **normalized);

/* Is there a queue of that path, or could there be?  *problem if neither. */
extern YqPathVerdict yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem);

#endif							/* YQ_PLACEMENT_H */

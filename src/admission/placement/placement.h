/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  Placing applications in queues (semantics/placement).
 *
 * Decisions follow the mapping engine of Hadoop 3.4.1.  Rules are evaluated in order.
 * A rule decides if it matches and its queue can be used, or if its fallback is not to
 * skip.  Rules are evaluated when the submission names no queue ("default"; naming
 * root.default counts) or when queue-mappings-override.enable is on.  If no rule
 * decides, the named queue is taken.
 *
 * Rules are compiled once per change.  A rule that compares a name without variables is
 * found by that name, so that a decision does not evaluate the others.
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
	YQ_PLACED,					/* placed by a rule */
	YQ_PLACED_BY_DEFAULT,		/* placed by a rule's fallback */
	YQ_PLACED_AS_NAMED,			/* no rule decided */
	YQ_PLACEMENT_REJECTED,		/* rejected by a rule */
	YQ_PLACEMENT_UNKNOWN		/* no rule decided, and the named queue cannot accept the application */
} YqPlacementOutcome;

/* A rule that matched and did not decide, by its number in the mapping rules of the hierarchy. */
typedef struct YqSkippedRule
{
	int			number;
	char	   *reason;
} YqSkippedRule;

typedef struct YqPlacement
{
	YqPlacementOutcome outcome;
	const char *queue;			/* full path; NULL: none */
	bool		must_create;
	int			rule;			/* number of the rule that decided; -1: none */
	char	   *reason;
	List	   *skipped;		/* YqSkippedRule, in order */
	int			rules_asked;	/* number of rules that were evaluated before the decision */
} YqPlacement;

typedef struct YqApplicant
{
	const YqSubject *subject;
	const char *queue;			/* queue that the submission names */
	const char *application_name;
} YqApplicant;

/*
 * Choose the queue in the hierarchy of yq_hierarchy_get().  The result is palloc'd, or
 * is valid as long as the hierarchy.
 */
extern YqPlacement yq_place_application(const YqHierarchy *hierarchy, const YqApplicant *applicant);

/* Evaluation of one rule, for explaining a decision. */
typedef struct YqRuleTrace
{
	bool		matches;
	const char *target;			/* target after replacing variables; NULL: none */
	bool		decides;
	char	   *reason;
} YqRuleTrace;

/*
 * Evaluate all rules one after another, without finding them by name.  The function
 * calls "report" for each rule up to the rule that decides, which is included.
 */
extern void yq_placement_trace(const YqHierarchy *hierarchy, const YqApplicant *applicant,
							   void (*report) (void *state, const YqMappingRule *rule, const YqRuleTrace *trace),
							   void *state);

/*
 * Add the problems of rules and priority lists to a list of YqViolation, if this
 * transaction has changed rows on which they depend.
 */
extern List *yq_placement_validate(List *violations);

/* -- for placement_check.c ------------------------------------------------- */

typedef enum YqPathVerdict
{
	YQ_PATH_EXISTS,
	YQ_PATH_CREATABLE,
	YQ_PATH_IMPOSSIBLE
} YqPathVerdict;

/* Split at dots as Java does: there are no empty parts at the end, but "" is one empty part. */
extern List *yq_path_split(const char *path);
extern char *yq_path_join(List *parts);

/* Return the path without blanks around its last dot. */
extern char *yq_path_tidy(const char *path);

/* Replace a short name at the beginning by its full path.  Returns the problem, or NULL. */
extern char *yq_path_normalize_root(const YqHierarchy *hierarchy, const char *path, char **normalized);

/* Does a queue with the path exist, or could it be created?  If neither, sets *problem. */
extern YqPathVerdict yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem);

#endif							/* YQ_PLACEMENT_H */

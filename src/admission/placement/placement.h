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
	const char *queue;			/* full path; NULL when there is none */
	bool		must_create;
	int			rule;			/* number of the rule that decided; -1 for none */
	char	   *reason;
	List	   *skipped;		/* YqSkippedRule, in order */
	int			rules_asked;	/* number of rules before the decision */
} YqPlacement;

typedef struct YqApplicant
{
	const YqSubject *subject;
	const char *queue;			/* queue as submitted */
	const char *application_name;
} YqApplicant;

/*
 * Choose the queue in the hierarchy of yq_hierarchy_get().  The result is palloc'd, or
 * valid as long as the hierarchy.
 */
extern YqPlacement yq_place_application(const YqHierarchy *hierarchy, const YqApplicant *applicant);

/* Evaluation of one rule in the explanation of a decision. */
typedef struct YqRuleTrace
{
	bool		matches;
	const char *target;			/* with variables replaced; NULL if there is none */
	bool		decides;
	char	   *reason;
} YqRuleTrace;

/*
 * Evaluate all rules one after the other, without looking them up by name.  The
 * function calls "report" for each rule up to and including the one that decides.
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

/* Split at dots as Java does: no empty parts at the end, but "" is one empty part. */
extern List *yq_path_split(const char *path);
extern char *yq_path_join(List *parts);

/* Return the path without blanks around its last dot. */
extern char *yq_path_tidy(const char *path);

/* Replace a short name at the front by its full path; returns the problem, or NULL. */
extern char *yq_path_normalize_root(const YqHierarchy *hierarchy, const char *path, char **normalized);

/* Is there a queue of that path, or could it be created?  Sets *problem if neither. */
extern YqPathVerdict yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem);

#endif							/* YQ_PLACEMENT_H */

/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  Placing applications in queues (semantics/placement).
 *
 * Decisions follow the mapping engine of Hadoop 3.4.1.  Rules are evaluated in order.
 * A rule decides if it matches and its queue can be used, or if its fallback is not
 * "skip".  Rules are evaluated if the submission names no queue, or if
 * queue-mappings-override.enable is on.  The name "default" counts as no name, but
 * root.default is a name.  If no rule decides, the named queue is taken.
 *
 * Rules are compiled once per change.  A rule that compares a name without variables is
 * found by this name.  A decision therefore evaluates only rules that may match.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLACEMENT_H
#define YQ_PLACEMENT_H

#include "queues/hierarchy.h"
#include "queues/mapping_rule.h"

/* Queue name in submissions whose user names no queue. */
#define YQ_UNNAMED_QUEUE "default"

typedef enum YqPlacementOutcome
{
	YQ_PLACED,					/* a rule chose the queue */
	YQ_PLACED_BY_DEFAULT,		/* the fallback of a rule chose the default queue */
	YQ_PLACED_AS_NAMED,			/* no rule decided */
	YQ_PLACEMENT_REJECTED,		/* a rule rejected the application */
	YQ_PLACEMENT_UNKNOWN		/* no rule decided, and the named queue cannot accept the application */
} YqPlacementOutcome;

/* A rule that matched but did not decide.  The number is its index in the hierarchy's mapping rules. */
typedef struct YqSkippedRule
{
	int			number;
	char	   *reason;
} YqSkippedRule;

typedef struct YqPlacement
{
	YqPlacementOutcome outcome;
	const char *queue;			/* full path of the chosen queue; NULL: none */
	bool		must_create;
	int			rule;			/* index of the rule that decided; -1: no rule */
	char	   *reason;
	List	   *skipped;		/* YqSkippedRule, in order */
	int			rules_asked;	/* number of rules before the decision, including rules that do not match */
} YqPlacement;

typedef struct YqApplicant
{
	const YqSubject *subject;
	const char *queue;			/* queue that the submission names, or YQ_UNNAMED_QUEUE */
	const char *application_name;
} YqApplicant;

/*
 * Choose the queue of an application.  The hierarchy is the result of
 * yq_hierarchy_get().  The strings in the result are palloc'd or belong to the
 * hierarchy.
 */
extern YqPlacement yq_place_application(const YqHierarchy *hierarchy, const YqApplicant *applicant);

/* How a rule was evaluated, to explain a decision. */
typedef struct YqRuleTrace
{
	bool		matches;
	const char *target;			/* target path after the replacement of variables; NULL: none */
	bool		decides;
	char	   *reason;
} YqRuleTrace;

/*
 * Evaluate the rules one after another, without the look-up by name.  The function
 * calls "report" for each rule, up to and including the rule that decides.
 */
extern void yq_placement_trace(const YqHierarchy *hierarchy, const YqApplicant *applicant,
							   void (*report) (void *state, const YqMappingRule *rule, const YqRuleTrace *trace),
							   void *state);

/*
 * Check mapping rules and priority lists, and add problems to a list of YqViolation.
 * The check is skipped unless this transaction has changed rows from which rules or
 * lists are read.
 */
extern List *yq_placement_validate(List *violations);

/* -- for placement_check.c ------------------------------------------------- */

typedef enum YqPathVerdict
{
	YQ_PATH_EXISTS,
	YQ_PATH_CREATABLE,
	YQ_PATH_IMPOSSIBLE
} YqPathVerdict;

/*
 * Split a path at its dots, as Java's String.split() does: empty parts at the end are
 * dropped, but "" has one empty part.
 */
extern List *yq_path_split(const char *path);
extern char *yq_path_join(List *parts);

/* Return a copy of the path without blanks before and after its last dot. */
extern char *yq_path_tidy(const char *path);

/*
 * If the path begins with a short name, replace the name by the queue's full path.
 * Returns the problem, or NULL.
 */
extern char *yq_path_normalize_root(const YqHierarchy *hierarchy, const char *path, char **normalized);

/* Does the queue exist, or could it be created?  Otherwise, sets *problem. */
extern YqPathVerdict yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem);

#endif							/* YQ_PLACEMENT_H */

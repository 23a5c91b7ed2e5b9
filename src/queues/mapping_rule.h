/*-------------------------------------------------------------------------
 *
 * mapping_rule.h
 *	  Rules that choose the queue of an application, as they are configured.
 *
 * Rules in both of Hadoop's notations are converted to the same structure.  It contains
 * the comparison, the policy, and the fallback for a queue that cannot be used
 * (semantics/queues).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_MAPPING_RULE_H
#define YQ_MAPPING_RULE_H

#include "utils/snapshot.h"

typedef enum YqRuleKind
{
	YQ_RULE_LEGACY,
	YQ_RULE_APPLICATION,
	YQ_RULE_JSON,
	YQ_RULE_KIND_COUNT
} YqRuleKind;

typedef enum YqRuleMatch
{
	YQ_MATCH_EVERYBODY,
	YQ_MATCH_USER,
	YQ_MATCH_GROUP,
	YQ_MATCH_APPLICATION
} YqRuleMatch;

typedef enum YqRuleAction
{
	YQ_RULE_PLACE,
	YQ_RULE_REJECT,
	YQ_RULE_SET_DEFAULT
} YqRuleAction;

typedef enum YqRuleFallback
{
	YQ_FALLBACK_SKIP,
	YQ_FALLBACK_DEFAULT,
	YQ_FALLBACK_REJECT
} YqRuleFallback;

typedef struct YqMappingRule
{
	YqRuleKind	kind;
	int32		position;		/* position among the rules of the same kind */
	YqRuleMatch match;
	const char *matches;
	bool		has_variable;	/* does the text to match contain a variable? */
	YqRuleAction action;
	const char *target;			/* path of the target queue, possibly with variables; NULL: missing */
	bool		may_create;
	YqRuleFallback fallback;
} YqMappingRule;

/* Mapping rules, sorted in the order in which they are tried. */
typedef struct YqMappingRules
{
	int			count;
	YqMappingRule *rules;
} YqMappingRules;

/*
 * Read the current mapping rules into the current memory context.  The rules are either
 * the legacy rules, followed by the rules for applications, or the JSON rules.
 */
extern YqMappingRules yq_mapping_rules_read(Snapshot snapshot, bool json);

extern const char *yq_rule_kind_name(YqRuleKind kind);

#endif							/* YQ_MAPPING_RULE_H */

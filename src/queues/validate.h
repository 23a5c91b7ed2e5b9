/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Validation of a hierarchy of queues: Hadoop's rules for a configuration, and for a
 *	  change while the cluster runs (docs/design.md 5).
 *
 * yquota rejects a configuration that Hadoop 3.4.1 rejects, with Hadoop's message if
 * Hadoop has one.  All violations are collected, in the order in which Hadoop would
 * find them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_VALIDATE_H
#define YQ_VALIDATE_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

typedef struct YqViolation
{
	const char *queue;			/* path; NULL for settings of the scheduler */
	const char *property;		/* Hadoop's name of the property, without the prefix of the queue */
	const char *value;			/* value as configured; NULL: not configured */
	const char *message;
} YqViolation;

/* Append a violation to a list.  The violation is palloc'd. */
extern List *yq_violation_add(List *violations, const char *queue, const char *property,
							  const char *value, const char *message);

/* Check a configuration against all rules, and return the violations. */
extern List *yq_hierarchy_validate(const YqHierarchy *hierarchy);

/* Check a single queue, without its relations to other queues, and return the violations. */
extern List *yq_hierarchy_validate_queue(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Return the name of the property that configures a queue for a label. */
extern char *yq_label_property(const YqHierarchy *hierarchy, int label, const char *property);

#endif							/* YQ_VALIDATE_H */

/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Validation of a hierarchy of queues: Hadoop's rules for a configuration, and for a
 *	  change while the cluster runs (docs/design.md 5).
 *
 * yquota refuses a configuration that Hadoop 3.4.1 refuses, with Hadoop's message if
 * there is one.  All violations are collected, in the order in which Hadoop would find
 * them.
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
	const char *property;		/* Hadoop's name of the property, without prefix */
	const char *value;			/* as configured; NULL: not configured */
	const char *message;
} YqViolation;

/* Add a violation to a list, palloc'd. */
extern List *yq_violation_add(List *violations, const char *queue, const char *property,
							  const char *value, const char *message);

/* Return all violations of the rules for a configuration. */
extern List *yq_hierarchy_validate(const YqHierarchy *hierarchy);

/* Return the violations of a single queue, without its relations to other queues. */
extern List *yq_hierarchy_validate_queue(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Return the name of the property of a queue on a label. */
extern char *yq_label_property(const YqHierarchy *hierarchy, int label, const char *property);

#endif							/* YQ_VALIDATE_H */

/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Whether a hierarchy of queues may be: Hadoop's rules for a configuration,
 *	  and for changing it while the cluster runs (docs/design.md 5).
 *
 * A configuration that Hadoop 3.4.1 refuses is refused, with Hadoop's message
 * where it has one.  Every violation is collected, in the order in which Hadoop
 * would come to it.
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
	const char *property;		/* Hadoop's name of it, without prefix */
	const char *value;			/* as configured; NULL when it is not */
	const char *message;
} YqViolation;

/* Add a violation to a list, palloc'd. */
extern List *yq_violation_add(List *violations, const char *queue, const char *property,
							  const char *value, const char *message);

/* All violations of the rules for a configuration. */
extern List *yq_hierarchy_validate(const YqHierarchy *hierarchy);

/* The violations of one queue alone, without its relations to other queues. */
extern List *yq_hierarchy_validate_queue(const YqHierarchy *hierarchy, const YqQueue *queue);

/* The name of the property of a queue on a label. */
extern char *yq_label_property(const YqHierarchy *hierarchy, int label, const char *property);

#endif							/* YQ_VALIDATE_H */

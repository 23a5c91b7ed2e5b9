/*-------------------------------------------------------------------------
 *
 * hierarchy_resolve.h
 *	  A queue while its properties are resolved, for hierarchy_resolve.c and
 *	  hierarchy_labels.c alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HIERARCHY_RESOLVE_H
#define YQ_HIERARCHY_RESOLVE_H

#include "queues/template.h"

/* A queue and its row, while it is resolved. */
typedef struct YqResolving
{
	YqHierarchyLoader *loader;
	YqQueue    *queue;
	const YqQueueRow *row;
	YqTemplates templates;
	const char *from;			/* of the value that was found last */
} YqResolving;

/* Does the row of the queue set the column? */
extern bool yq_resolving_is_own(YqResolving *resolving, YqQueueColumn column);

/* The text that the templates have for a property, or NULL. */
extern char *yq_resolving_template(YqResolving *resolving, const char *property);

/* The text that the row, or else a template, has for a property, or NULL. */
extern char *yq_resolving_text(YqResolving *resolving, YqQueueColumn column, const char *property);

/* Note the value of an inherited property and its origin; or copy both from the parent. */
extern void yq_resolving_note(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from);
extern void yq_resolving_note_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback);

/* The labels that the queue may use, and the label of requests that name none. */
extern void yq_resolve_accessible_labels(YqResolving *resolving);
extern void yq_resolve_default_label(YqResolving *resolving);

/* The capacities of the queue on each label. */
extern void yq_resolve_labels(YqResolving *resolving, const bool *configured_anywhere);

/* The capacities that the template of a managed parent gives its leaves on each label. */
extern void yq_resolve_leaf_template(YqResolving *resolving);

#endif							/* YQ_HIERARCHY_RESOLVE_H */

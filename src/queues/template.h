/*-------------------------------------------------------------------------
 *
 * template.h
 *	  Properties of created queues by templates (semantics/queues 3).
 *
 * The row of a created queue has only properties that were set for it
 * explicitly.  All others are read from templates when the hierarchy is made,
 * so a change of a template changes the queues that were made from it.
 *
 * A managed parent has one template for its leaves.  Below other parents the first
 * template that has a property counts (Hadoop 3.4.1).  First come the templates for
 * leaves or for parents: of the parent, then of its path with the last part replaced
 * by *, then with the last two, and so on.  Root is never replaced, nor more parts
 * than levels may be created below the parent.  Then the templates for both kinds
 * come in the same order.  Before all of them come properties of the queue that a
 * configuration file had while no queue was listed there (yquota.unmapped_property).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEMPLATE_H
#define YQ_TEMPLATE_H

#include "queues/hierarchy_read.h"

/* Templates of a queue, in order of precedence; all empty for one that was not created. */
typedef struct YqTemplates
{
	const YqHierarchyLoader *loader;
	const YqQueue *queue;
	List	   *templates;		/* Jsonb * */
	Jsonb	   *labels;			/* the template with the labels of the queue; NULL for none */
} YqTemplates;

/* Valid as long as the loader. */
extern YqTemplates yq_templates_of(const YqHierarchyLoader *loader, const YqQueue *queue);

/* The value of one of Hadoop's properties, without prefix; palloc'd, or NULL. */
extern char *yq_templates_text(const YqTemplates *templates, const char *property);

/*
 * The text that templates have for a property of a node label; "property"
 * follows the label's name.
 */
extern char *yq_templates_label_text(const YqTemplates *templates, const char *label,
									 const char *property);

/* Weights of users, user-settings.<user>.weight, put before those that are given. */
extern struct YqWeightRow *yq_templates_weights(const YqTemplates *templates, struct YqWeightRow *rows);

/* Is something said about the label, so that the queue has it? */
extern bool yq_template_has_label(Jsonb *template, const char *label);
extern bool yq_templates_kept_label(const YqTemplates *templates, const char *label);

/* The value of a property of one template; palloc'd, or NULL. */
extern char *yq_template_text(Jsonb *template, const char *property);

/* Does Hadoop read it as true? NULL and other texts are "otherwise". */
extern bool yq_template_flag(const char *text, bool otherwise);

/* Fill access lists and priorities of a queue: of its row, and of its templates (hierarchy_access.c). */
extern void yq_hierarchy_resolve_access(YqQueue *queue, const YqQueueRow *row, const YqTemplates *templates);

/* The path with that many of its last parts replaced by wildcards, palloc'd. */
extern char *yq_template_wildcard_path(const char *path, int wildcards);

/* -- a queue while its properties are resolved -------------------------------- */

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

#endif							/* YQ_TEMPLATE_H */

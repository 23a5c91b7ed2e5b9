/*-------------------------------------------------------------------------
 *
 * template.h
 *	  Properties that created queues take from templates (semantics/queues 3).
 *
 * The row of a created queue has only properties that were set for it
 * explicitly.  All others are read from templates when the hierarchy is made,
 * so a change of a template changes the queues that were made from it.
 *
 * A managed parent has one template for its leaves.  Below other parents the first
 * template that has a property counts (Hadoop 3.4.1).  The search begins with the
 * templates for leaves or for parents.  The parent's own template comes first.  Then
 * come the templates of its path with the last part replaced by *, with the last two,
 * and so on.  Root is never replaced, nor are more parts than levels may be created
 * below the parent.  The templates for both kinds follow in the same order.  Properties
 * that a configuration file had for a queue that it did not list precede all templates
 * (yquota.unmapped_property).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEMPLATE_H
#define YQ_TEMPLATE_H

#include "queues/hierarchy_read.h"

/* Templates of a queue, in order of precedence; empty for a queue that was not created. */
typedef struct YqTemplates
{
	const YqHierarchyLoader *loader;
	const YqQueue *queue;
	List	   *templates;		/* Jsonb * */
	Jsonb	   *labels;			/* the template with the labels of the queue; NULL for none */
} YqTemplates;

/* Return the templates of a queue, valid as long as the loader. */
extern YqTemplates yq_templates_of(const YqHierarchyLoader *loader, const YqQueue *queue);

/* Return the value of one of Hadoop's properties, without prefix; palloc'd, or NULL. */
extern char *yq_templates_text(const YqTemplates *templates, const char *property);

/* Return the text that templates have for a property of a node label; "property" follows the label's name. */
extern char *yq_templates_label_text(const YqTemplates *templates, const char *label,
									 const char *property);

/* Put the weights of users, user-settings.<user>.weight, before the given weights. */
extern struct YqWeightRow *yq_templates_weights(const YqTemplates *templates, struct YqWeightRow *rows);

/* Does the template mention the label, so that the queue has the label? */
extern bool yq_template_has_label(Jsonb *template, const char *label);
extern bool yq_templates_kept_label(const YqTemplates *templates, const char *label);

/* Return the value of a property of one template; palloc'd, or NULL. */
extern char *yq_template_text(Jsonb *template, const char *property);

/* Does Hadoop read the text as true?  NULL and other texts give "otherwise". */
extern bool yq_template_flag(const char *text, bool otherwise);

/* Fill access lists and priorities of a queue from its row and from its templates (hierarchy_access.c). */
extern void yq_hierarchy_resolve_access(YqQueue *queue, const YqQueueRow *row, const YqTemplates *templates);

/* Return the path with that many of its last parts replaced by wildcards, palloc'd. */
extern char *yq_template_wildcard_path(const char *path, int wildcards);

/* -- a queue while its properties are resolved -------------------------------- */

/* A queue and its row while the queue is resolved. */
typedef struct YqResolving
{
	YqHierarchyLoader *loader;
	YqQueue    *queue;
	const YqQueueRow *row;
	YqTemplates templates;
	const char *from;			/* origin of the value found last */
} YqResolving;

/* Does the row of the queue set the column? */
extern bool yq_resolving_is_own(YqResolving *resolving, YqQueueColumn column);

/* Return the text that the templates have for a property, or NULL. */
extern char *yq_resolving_template(YqResolving *resolving, const char *property);

/* Return the text that the row, or else a template, has for a property, or NULL. */
extern char *yq_resolving_text(YqResolving *resolving, YqQueueColumn column, const char *property);

/* Note the value of an inherited property and its origin, or copy both from the parent. */
extern void yq_resolving_note(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from);
extern void yq_resolving_note_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback);

#endif							/* YQ_TEMPLATE_H */

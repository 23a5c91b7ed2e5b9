/*-------------------------------------------------------------------------
 *
 * template.h
 *	  Properties that created queues take from templates (semantics/queues 3).
 *
 * The row of a created queue contains only properties that were set for this queue
 * explicitly.  All others are read from templates whenever the hierarchy is built, so a
 * change of a template changes the queues that were created from it.
 *
 * A managed parent has one template for its leaves.  Below other parents, several
 * templates are searched, and the first that sets a property counts (Hadoop 3.4.1).
 * The search begins with the templates for leaves or for parents.  Among these, the
 * parent's own template comes first.  Then come the templates of its path with the last
 * part replaced by *, with the last two parts replaced, and so on.  Root is never
 * replaced.  The number of replaced parts is at most the number of levels that may be
 * created below the parent.  The templates for both kinds follow in the same order.  If
 * a configuration file sets properties of a queue that it does not list, these precede
 * all templates (yquota.unmapped_property).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEMPLATE_H
#define YQ_TEMPLATE_H

#include "queues/hierarchy_read.h"

/* Templates of a queue, in order of precedence.  A queue that was not created has none. */
typedef struct YqTemplates
{
	const YqHierarchyLoader *loader;
	const YqQueue *queue;
	List	   *templates;		/* Jsonb * */
	Jsonb	   *labels;			/* the template that configures the labels of the queue; NULL: none */
} YqTemplates;

/* Return the templates of a queue.  They are valid as long as the loader. */
extern YqTemplates yq_templates_of(const YqHierarchyLoader *loader, const YqQueue *queue);

/* Return the value of one of Hadoop's properties, named without its prefix; palloc'd, or NULL. */
extern char *yq_templates_text(const YqTemplates *templates, const char *property);

/*
 * Return the templates' text for a property of a node label.  "property" is the part
 * after the label's name.
 */
extern char *yq_templates_label_text(const YqTemplates *templates, const char *label,
									 const char *property);

/* Put the templates' weights of users (user-settings.<user>.weight) before the given weights. */
extern struct YqWeightRow *yq_templates_weights(const YqTemplates *templates, struct YqWeightRow *rows);

/* Does the template mention the label?  Then the queue has the label. */
extern bool yq_template_has_label(Jsonb *template, const char *label);
extern bool yq_templates_kept_label(const YqTemplates *templates, const char *label);

/* Return the value of a property of one template; palloc'd, or NULL. */
extern char *yq_template_text(Jsonb *template, const char *property);

/*
 * Does Hadoop read the text as true?  For NULL and texts that are neither true nor
 * false, return "otherwise".
 */
extern bool yq_template_flag(const char *text, bool otherwise);

/* Fill access lists and priorities of a queue from its row and from its templates (hierarchy_access.c). */
extern void yq_hierarchy_resolve_access(YqQueue *queue, const YqQueueRow *row, const YqTemplates *templates);

/* Return the path with its last "wildcards" parts replaced by *, palloc'd. */
extern char *yq_template_wildcard_path(const char *path, int wildcards);

/* -- a queue while its properties are resolved -------------------------------- */

/* A queue and its row, while its properties are resolved. */
typedef struct YqResolving
{
	YqHierarchyLoader *loader;
	YqQueue    *queue;
	const YqQueueRow *row;
	YqTemplates templates;
	const char *from;			/* origin of the last value that was found */
} YqResolving;

/* Does the row of the queue set the column? */
extern bool yq_resolving_is_own(YqResolving *resolving, YqQueueColumn column);

/* Return the text that the templates have for a property, or NULL. */
extern char *yq_resolving_template(YqResolving *resolving, const char *property);

/* Return the text of a property from the row or, if the row does not set it, from a template, or NULL. */
extern char *yq_resolving_text(YqResolving *resolving, YqQueueColumn column, const char *property);

/* Set the value and origin of an inherited property, or copy both from the parent. */
extern void yq_resolving_note(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from);
extern void yq_resolving_note_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback);

#endif							/* YQ_TEMPLATE_H */

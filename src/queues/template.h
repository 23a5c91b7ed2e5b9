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
 * templates are searched, and the first template that sets a property counts, as in
 * Hadoop 3.4.1.  The search begins with the templates for queues of the same kind,
 * leaves or parents.  Among these, the parent's own template comes first.  Then come
 * the templates of its path with the last part replaced by *, with the last two parts
 * replaced, and so on.  The part "root" is never replaced.  The number of replaced
 * parts is at most the number of levels that may be created below the parent.
 * Templates that apply to leaves and to parents follow in the same order.  A
 * configuration file may set properties of a queue that it does not list
 * (yquota.unmapped_property).  Such properties take precedence over all templates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEMPLATE_H
#define YQ_TEMPLATE_H

#include "queues/hierarchy_read.h"

/* Templates that apply to a queue, highest precedence first.  Only created queues have templates. */
typedef struct YqTemplates
{
	const YqHierarchyLoader *loader;
	const YqQueue *queue;
	List	   *templates;		/* Jsonb * */
	Jsonb	   *labels;			/* the template that configures the queue's labels; NULL: none */
} YqTemplates;

/* Return the templates that apply to a queue.  The result is valid as long as the loader. */
extern YqTemplates yq_templates_of(const YqHierarchyLoader *loader, const YqQueue *queue);

/*
 * Return the value of a property of the templates, palloc'd, or NULL.  "property" is
 * Hadoop's name without the prefix of the template.
 */
extern char *yq_templates_text(const YqTemplates *templates, const char *property);

/*
 * Return the value of a label's property in the templates, or NULL.  "property" is the
 * part of the name after the label.
 */
extern char *yq_templates_label_text(const YqTemplates *templates, const char *label,
									 const char *property);

/* Prepend the templates' weights of users (user-settings.<user>.weight) to the given weights. */
extern struct YqWeightRow *yq_templates_weights(const YqTemplates *templates, struct YqWeightRow *rows);

/* Does the template mention the label?  If so, a queue created from the template has the label. */
extern bool yq_template_has_label(Jsonb *template, const char *label);
extern bool yq_templates_kept_label(const YqTemplates *templates, const char *label);

/* Return the value of a property in this template, palloc'd, or NULL. */
extern char *yq_template_text(Jsonb *template, const char *property);

/*
 * Does Hadoop read the text as true?  Returns "otherwise" for NULL and for a text that
 * is neither true nor false.
 */
extern bool yq_template_flag(const char *text, bool otherwise);

/* Set the access lists and priorities of a queue from its row and its templates (in hierarchy_access.c). */
extern void yq_hierarchy_resolve_access(YqQueue *queue, const YqQueueRow *row, const YqTemplates *templates);

/* Return the path with its last parts replaced by *, palloc'd.  "wildcards" is the number of replaced parts. */
extern char *yq_template_wildcard_path(const char *path, int wildcards);

/* -- a queue while its properties are resolved -------------------------------- */

/* State while the properties of a queue are set: the queue, its row and its templates. */
typedef struct YqResolving
{
	YqHierarchyLoader *loader;
	YqQueue    *queue;
	const YqQueueRow *row;
	YqTemplates templates;
	const char *from;			/* origin of the value that was found last */
} YqResolving;

/* Does the row of the queue set the column? */
extern bool yq_resolving_is_own(YqResolving *resolving, YqQueueColumn column);

/* Return the value of a property in the queue's templates, or NULL. */
extern char *yq_resolving_template(YqResolving *resolving, const char *property);

/*
 * Return the value of a property from the queue's row.  If the row does not set it,
 * return the value from a template, or NULL.
 */
extern char *yq_resolving_text(YqResolving *resolving, YqQueueColumn column, const char *property);

/* Set the value and origin of an inherited property.  yq_resolving_note_parent() copies both from the parent. */
extern void yq_resolving_note(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from);
extern void yq_resolving_note_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback);

#endif							/* YQ_TEMPLATE_H */

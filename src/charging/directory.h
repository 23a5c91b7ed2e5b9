/*-------------------------------------------------------------------------
 *
 * directory.h
 *	  What a session remembers of projects, nodes and waiting events, so that
 *	  a statement need not look it up again.
 *
 * Triggers on the tables send a message with every change that matters; it
 * arrives when the change is committed (at once in the session that makes it)
 * and makes the session forget, as the end of a transaction or subtransaction
 * does that is rolled back or prepared.  What is remembered is therefore what a
 * look at the tables would have shown at the start of the statement.
 *
 * Who does not find something looks into the table and notes what is there;
 * the note is dropped when the table has changed meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DIRECTORY_H
#define YQ_DIRECTORY_H

#include "postgres.h"

/* Whether a project is known to exist. */
extern bool yq_directory_has_project(const text *project);
extern void yq_directory_note_project(const text *project);

/*
 * Whether the label of a node is known; then *label is a copy in the current
 * memory context, or NULL when there is no such node.
 */
extern bool yq_directory_has_node(const text *node, text **label);
extern void yq_directory_note_node(const text *node, const text *label);

/* Whether no event is known to wait for its START. */
extern bool yq_directory_nothing_waits(void);
extern void yq_directory_note_nothing_waits(void);

#endif							/* YQ_DIRECTORY_H */

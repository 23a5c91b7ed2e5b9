/*-------------------------------------------------------------------------
 *
 * tags.h
 *	  Tags of applications, by which reports group costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TAGS_H
#define YQ_TAGS_H

#include "utils/jsonb.h"

/*
 * Read tags of the form key=value into a JSON object.  A tag without = is a key with an
 * empty value.  Malformed tags are an error.
 */
extern Jsonb *yq_tags_read(const char *const *tags, int count);

#endif							/* YQ_TAGS_H */

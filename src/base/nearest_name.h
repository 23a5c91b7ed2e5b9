/*-------------------------------------------------------------------------
 *
 * nearest_name.h
 *	  The known name that was probably meant by a misspelt name, for hints.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NEAREST_NAME_H
#define YQ_NEAREST_NAME_H

typedef struct YqNearestName
{
	const char *name;			/* the misspelt name */
	int			length;
	int			most;			/* candidates whose edits cost more are ignored */
	const char *nearest;		/* nearest candidate; NULL: no candidate is similar */
	int			nearest_length;
} YqNearestName;

extern void yq_nearest_name_begin(YqNearestName *search, const char *name, int length);

/*
 * Compare the misspelt name with a candidate, which the caller keeps until the search ends.  If
 * several candidates are equally near, the first one is suggested.
 */
extern void yq_nearest_name_compare(YqNearestName *search, const char *candidate, int length);

#endif							/* YQ_NEAREST_NAME_H */

/*-------------------------------------------------------------------------
 *
 * capacity.h
 *	  Notations of capacity and maximum-capacity (docs/design.md 5).
 *
 * A capacity is written as a percentage (12.5), a weight (2w), absolute amounts
 * ([memory=10240,vcores=12]) or a vector of all three ([memory=50%,vcores=2w]).  Hadoop reads every
 * capacity with two readers, each of which ignores notations that it does not understand.
 */
#ifndef YQ_CAPACITY_H
#define YQ_CAPACITY_H

/* Unit in which a vector gives the amount of a resource type, such as % in [memory-mb=50%]. */
typedef enum YqCapacityUnit
{
	YQ_CAPACITY_NONE,			/* the vector does not contain the type */
	YQ_CAPACITY_ABSOLUTE,
	YQ_CAPACITY_PERCENT,
	YQ_CAPACITY_WEIGHT
} YqCapacityUnit;

typedef struct YqCapacityEntry
{
	YqCapacityUnit unit;
	double		value;			/* native units, percent or weight */
} YqCapacityEntry;

typedef struct YqCapacity
{
	const char *text;			/* text of the capacity; NULL when not configured */
	bool		is_absolute;	/* set if the text contains amounts in brackets: the absolute mode */
	bool		is_percent;		/* set if the text is a plain number or missing */
	float4		number;			/* percent; 0 when not configured */
	float4		weight;			/* weight; -1 when the capacity is not a weight */
	int64	   *amounts;		/* absolute amounts; NULL: none */
	YqCapacityEntry *vector;	/* an entry per resource type; NULL: the text has no vector */
	const char *problem;		/* Hadoop's error message; NULL: Hadoop accepts the capacity */
} YqCapacity;

/*
 * Parse a capacity into palloc'd memory.  The text may be NULL.  "names" contains the
 * names of the resource types, and "types" is their number.
 */
extern void yq_capacity_parse(YqCapacity *capacity, const char *text,
							  const char *const *names, int types);

/* Return the unit that all entries of the vector share, or YQ_CAPACITY_NONE if their units differ. */
extern YqCapacityUnit yq_capacity_uniform_unit(const YqCapacity *capacity, int types);

#endif							/* YQ_CAPACITY_H */

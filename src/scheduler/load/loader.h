/*-------------------------------------------------------------------------
 *
 * loader.h
 *	  Rows of statements on their way into a cluster: for the files of this
 *	  folder alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOADER_H
#define YQ_LOADER_H

#include "base/bytes_table.h"
#include "scheduler/load/loaded_cluster.h"
#include "store/saved_plan.h"

/* As long as the cluster is. */
typedef struct YqClusterLoader
{
	YqLoadedCluster *loaded;
	YqCluster  *cluster;
	YqHierarchy *hierarchy;
	HTAB	   *applications;	/* by id */
	HTAB	   *users;			/* by leaf and name */
	List	   *added;			/* YqClusterApplication: by the reading at hand */
	HTAB	   *held;			/* containers of applications before the reload, by id; NULL for none */
	bool		is_contradictory;	/* so is this */
	YqClusterApplication *sorted;	/* that rows are coming of, or NULL */
	int			sorted_keys;	/* how many of its keys are in order: those from before its rows */
} YqClusterLoader;

/* A row of a statement. */
typedef struct YqLoaderRow
{
	Datum	   *values;			/* of its columns, the first one at 0 */
	bool	   *nulls;
	YqClusterLoader *loader;
} YqLoaderRow;

typedef void (*YqLoaderReader) (const YqLoaderRow *row);

/* Run a statement, and call the reader for each row, in a context that does not last. */
extern void yq_loader_read(YqClusterLoader *loader, YqSavedPlan *statement, Datum *values,
						   YqLoaderReader reader);

/* Values of columns; null is 0, or false. */
extern bool yq_loader_is_null(const YqLoaderRow *row, int column);
extern Datum yq_loader_value(const YqLoaderRow *row, int column);

/* A string that lives as long as the cluster, or NULL. */
extern char *yq_loader_text(const YqLoaderRow *row, int column);

/* Amounts per type of the hierarchy. */
extern int64 *yq_loader_amounts(const YqLoaderRow *row, int column);

/* The number of a label; -1 when it is gone.  Without labels there is one partition. */
extern int	yq_loader_label(const YqLoaderRow *row, int column);

/* Append to a list that lives as long as the cluster. */
extern List *yq_loader_append(const YqClusterLoader *loader, List *list, void *element);

/* Applications of some ids (an array), or (NULL) all, that are not in the cluster. */
extern void yq_loader_read_applications(YqClusterLoader *loader, Datum *ids);

/* The one of an id that is in the cluster, or NULL. */
extern YqClusterApplication *yq_loader_application(const YqClusterLoader *loader, const char *id);

/* The tables that find applications by id, and users by leaf and name. */
extern HTAB *yq_loader_make_applications(const YqCluster *cluster);
extern HTAB *yq_loader_make_users(const YqCluster *cluster);

#endif							/* YQ_LOADER_H */

/*-------------------------------------------------------------------------
 *
 * loaded_preemption.h
 *	  The state of a round of preemption that is loaded from the tables, with the
 *	  loader's data.
 *
 * The state of preemption_state.h knows no table.  Its `source` pointers lead here.
 * Everything lives in the memory context of the state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOADED_PREEMPTION_H
#define YQ_LOADED_PREEMPTION_H

#include "preemption/preemption_state.h"
#include "scheduler/load/loaded_cluster.h"

/* The configuration of preemption. */
typedef struct YqPreemptionConfiguration
{
	YqPreemptionSettings settings;
	bool		is_advising;	/* preemption_mode: the resource manager ends containers itself */
	const char *off_because;	/* Hadoop's property that has rounds off; NULL: there are rounds */
	bool		is_monitor_on;	/* else every queue is disabled (YQ_MONITOR_ENABLE) */
} YqPreemptionConfiguration;

/* The last round that was recorded. */
typedef struct YqPreemptionRoundRow
{
	bool		is_there;		/* there was one */
	TimestampTz round_at;
	TimestampTz server_started_at;	/* of the server that recorded it */
} YqPreemptionRoundRow;

/* What is known of a running container that an earlier round has selected. */
typedef struct YqPreemptionMark
{
	YqBytes		container_id;
	TimestampTz marked_at;
	bool		is_killable;	/* in lazy preemption */
	bool		is_advised;		/* the resource manager was told to end it */
} YqPreemptionMark;

/* A state with the loader's data. */
typedef struct YqLoadedPreemption
{
	YqPreemption *state;
	YqLoadedCluster *loaded;	/* to be read only */
	YqHierarchy *hierarchy;
	uint64		plan_version;	/* of the hierarchy, when it was loaded */
	YqPreemptionConfiguration configuration;
	YqPreemptionRoundRow last;	/* that the marks are of */
	int64		gap;			/* microseconds until now in which no round could be: marks move by it */
	HTAB	   *marks;			/* YqPreemptionMark, that count; NULL for none */
	bool		has_told;		/* some are killable or advised */
	List	   *forgotten;		/* ids (char *) of containers whose marks go with this round */
	List	   *ignored;		/* of them, those that the resource manager has not ended in time */
	TimestampTz recorded_at;	/* by the clock, of the ends of containers; DT_NOBEGIN: it is not recorded */
	struct YqPreemptionLoader *loader;
} YqLoadedPreemption;

/* What completes leaves of the state: see preemption_loader.h. */
typedef struct YqPreemptionLoader
{
	YqLoadedPreemption *preemption;
	YqPreemptionQueue **queues;	/* by number of the queue in the hierarchy; NULL: not in the tree */
	bool	   *is_wanted;		/* by number of the queue in the state: at this time */
	HTAB	   *nodes;			/* of loaded_preemption.c */
	HTAB	   *applications;	/* of preemption_applications.c, as the next two */
	HTAB	   *users;
	List	   *found;			/* YqPreemptionApplicationEntry of wanted leaves */
	HTAB	   *reserved_at;	/* of preemption_reservations.c; NULL: not read yet */
} YqPreemptionLoader;

/* The queue of the hierarchy that a queue of the state is. */
extern const YqQueue *yq_preemption_queue(const YqPreemptionQueue *queue);

/* The queue of the state that a queue of the hierarchy is; NULL for one that is not in the tree. */
extern YqPreemptionQueue *yq_loaded_preemption_queue(const YqLoadedPreemption *preemption, const YqQueue *queue);

/*
 * The node with a name, added if need be; one that is not in service has the label that a
 * container is counted on.
 */
extern YqPreemptionNode *yq_loaded_preemption_node(YqPreemptionLoader *loader, YqBytes name, int label);

/* Make the table of nodes. */
extern void yq_loaded_preemption_begin_nodes(YqPreemptionLoader *loader);

/* A name as a string that lives as long as the state. */
extern char *yq_loaded_preemption_keep(const YqPreemptionLoader *loader, YqBytes name);

#endif							/* YQ_LOADED_PREEMPTION_H */

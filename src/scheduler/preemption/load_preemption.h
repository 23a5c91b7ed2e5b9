/*-------------------------------------------------------------------------
 *
 * load_preemption.h
 *	  Loading the state of a round of preemption: the configuration, the marks
 *	  of earlier rounds, and the cluster (preemption 1, 2.1).
 *
 * The cluster is the one that the session keeps for allocation cycles, brought up
 * to date without the scheduler's lock; it is loaded where none can be kept.
 * Containers are read when a selector first needs those of a leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_PREEMPTION_H
#define YQ_LOAD_PREEMPTION_H

#include "scheduler/load/loaded_cluster.h"
#include "scheduler/preemption/preemption_state.h"

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
	YqPreemptionConfiguration configuration;
	YqPreemptionRoundRow last;	/* that the marks are of */
	int64		gap;			/* microseconds until now in which no round could be: marks move by it */
	HTAB	   *marks;			/* YqPreemptionMark, that count; NULL for none */
	bool		has_told;		/* some are killable or advised */
	List	   *forgotten;		/* ids (char *) of containers whose marks go with this round */
	List	   *ignored;		/* of them, those that the resource manager has not ended in time */
	TimestampTz recorded_at;	/* by the clock, of the ends of containers; DT_NOBEGIN: it is not recorded */
	struct YqPreemptionLoader *loader;	/* see preemption_loader.h */
} YqLoadedPreemption;

/*
 * Read the configuration.  ERRCODE_INVALID_PARAMETER_VALUE for a name that Hadoop would
 * not know.
 */
extern YqPreemptionConfiguration yq_preemption_configuration(void);

/* Read the row of the last round. */
extern YqPreemptionRoundRow yq_preemption_last_round(void);

/*
 * The newest committed state, for a round at a time that is not before the last one.
 * In a context of its own below the current one, to be given to
 * yq_preemption_unload().
 */
extern YqLoadedPreemption *yq_preemption_load(YqHierarchy *hierarchy, const YqPreemptionConfiguration *configuration,
											  const YqPreemptionRoundRow *last, TimestampTz as_of);
extern void yq_preemption_unload(YqLoadedPreemption *preemption);

/* The queue of the hierarchy that a queue of the state is. */
extern const YqQueue *yq_preemption_queue(const YqPreemptionQueue *queue);

#endif							/* YQ_LOAD_PREEMPTION_H */

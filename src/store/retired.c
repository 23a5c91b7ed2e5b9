/*-------------------------------------------------------------------------
 *
 * retired.c
 *	  Functions in C that only the SQL objects of earlier releases declare.
 *
 * An update goes through the objects of the releases between, so their scripts
 * must find these names.  A call tells that the objects and the library are of
 * different versions.  A release adds functions that it no longer declares; one
 * whose arguments or meaning change gets a new name in C and leaves the old one
 * here.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "fmgr.h"
#include "store/catalog.h"

#define RETIRED_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		yq_catalog_refuse_version(); \
	} \
	PG_FUNCTION_INFO_V1(name)

/* 0.1.0, 0.2.0: sessions that loaded their library must not charge by later objects */
RETIRED_FUNCTION(yq_sql_charge_events);

/* 0.2.0: the present use of queues decides about application masters */
RETIRED_FUNCTION(yq_sql_forget_am_limits);

/* 0.2.0: submit_application() has got dry_run, which replaces admission() */
RETIRED_FUNCTION(yq_sql_admission);
RETIRED_FUNCTION(yq_sql_submit_application);

/* 0.2.0: place_application() has got explain, which replaces explain_placement() */
RETIRED_FUNCTION(yq_sql_explain_placement);
RETIRED_FUNCTION(yq_sql_place_application);

/* 0.2.0: one filter is of all of history; the last one has the name price_intervals */
RETIRED_FUNCTION(yq_sql_fill_key_filter);
RETIRED_FUNCTION(yq_sql_has_key_filter);
RETIRED_FUNCTION(yq_sql_price_stretches);

/*-------------------------------------------------------------------------
 *
 * paid_credits.h
 *	  What a container has cost so far, in statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PAID_CREDITS_H
#define YQ_PAID_CREDITS_H

/*
 * The credits that were charged and have accrued for a row "c" of yquota.container, as
 * yquota.container_cost has them.
 */
#define YQ_PAID_CREDITS \
	"(CASE WHEN c.charges = 0 THEN 0 ELSE (" \
	"SELECT COALESCE(pg_catalog.sum(h.amount), 0) FROM yquota.charge AS h WHERE h.container_id = c.container_id) END + " \
	"yquota_internal.accrued(c.allocation, c.factors, c.settled_at, yquota.statement_clock()))"

#endif							/* YQ_PAID_CREDITS_H */

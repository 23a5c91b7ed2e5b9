package org.apache.hadoop.yarn.server.resourcemanager.reservation.planning;

import org.apache.hadoop.yarn.util.Clock;

/**
 * Hadoop's replanner, with a clock of our own. The class is in Hadoop's package, because only that
 * package sees the constructor.
 */
public final class DrivenReplanner extends SimpleCapacityReplanner
{
	public DrivenReplanner(Clock clock)
	{
		super(clock);
	}
}

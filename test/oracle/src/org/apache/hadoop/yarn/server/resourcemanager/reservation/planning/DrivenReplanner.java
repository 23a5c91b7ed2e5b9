package org.apache.hadoop.yarn.server.resourcemanager.reservation.planning;

import org.apache.hadoop.yarn.util.Clock;

/**
 * The replanner itself, with a clock of its own.  It stands in Hadoop's
 * package, as the constructor is visible there only.
 */
public final class DrivenReplanner extends SimpleCapacityReplanner
{
	public DrivenReplanner(Clock clock)
	{
		super(clock);
	}
}

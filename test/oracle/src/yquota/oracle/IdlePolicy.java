package yquota.oracle;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.SchedulingEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/**
 * A policy that does nothing. The monitor's thread runs it where preemption is on, because the
 * oracle runs each round by itself.
 */
public class IdlePolicy implements SchedulingEditPolicy
{
	@Override
	public void init(Configuration configuration, RMContext context, ResourceScheduler scheduler)
	{
	}

	@Override
	public void editSchedule()
	{
	}

	@Override
	public long getMonitoringInterval()
	{
		return 3_600_000;
	}

	@Override
	public String getPolicyName()
	{
		return getClass().getName();
	}
}

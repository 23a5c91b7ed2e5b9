package org.yquota.yarn;

import java.io.File;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.stream.Stream;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.SystemMetricsPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;

/** The feed's scheduler, with an account kept beside it. */
public class AccountingScheduler extends FeedingCapacityScheduler {
	/** property that names the file of the account */
	static final String FILE = "test.account";

	private Account account;

	@Override
	public void serviceStart() throws Exception {
		RMContext context = getRMContext();
		account = new Account(new File(getConfig().get(FILE)));
		super.serviceStart();
		SystemMetricsPublisher publisher = context.getSystemMetricsPublisher();

		context.setSystemMetricsPublisher((SystemMetricsPublisher) Proxy.newProxyInstance(getClass().getClassLoader(),
			new Class<?>[] {SystemMetricsPublisher.class}, (proxy, method, arguments) -> {
				if (method.getName().equals("containerCreated")) {
					account.allocated((RMContainer) arguments[0]);
				} else if (method.getName().equals("containerFinished")) {
					account.finished((RMContainer) arguments[0]);
				}
				return method.invoke(publisher, arguments);
			}));
	}

	@Override
	public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> ask, List<SchedulingRequest> schedulingRequests,
			List<ContainerId> release, List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
		long before = System.currentTimeMillis();
		Allocation allocation = super.allocate(attempt, ask, schedulingRequests, release, blacklistAdditions, blacklistRemovals, updates);
		long after = System.currentTimeMillis();

		Stream.of(allocation.getIncreasedContainers(), allocation.getDecreasedContainers(), allocation.getPromotedContainers(),
				allocation.getDemotedContainers())
			.filter(list -> list != null).flatMap(List<Container>::stream)
			.forEach(container -> account.updated(container, before, after));
		return allocation;
	}
}

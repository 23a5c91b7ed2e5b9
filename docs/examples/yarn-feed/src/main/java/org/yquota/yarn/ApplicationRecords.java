package org.yquota.yarn;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;

/** Records about applications, if yquota is to hear of them. */
final class ApplicationRecords {
	private final FeedConfiguration conf;
	private final ContainerEvents events;
	private final RMContext context;
	private final Feed feed;
	/** when applications expire, as yquota has been told, in milliseconds */
	private final Map<ApplicationId, Long> expiries = new ConcurrentHashMap<>();

	ApplicationRecords(FeedConfiguration conf, ContainerEvents events, RMContext context, Feed feed) {
		this.conf = conf;
		this.events = events;
		this.context = context;
		this.feed = feed;
	}

	private boolean areTold() {
		return conf.applications != FeedConfiguration.Applications.NONE;
	}

	/** It has come in, or has been recovered: yquota takes it once. */
	void added(String[] application) {
		feed.tell(Records.record(Records.APPLICATION, application));
	}

	void ended(ApplicationId id, RMAppState state) {
		RMApp application = context.getRMApps().get(id);

		expiries.remove(id);
		feed.tell(Records.record(Records.APPLICATION_END, id.toString(), state.name(),
			application == null ? null : application.getDiagnostics().toString()));
	}

	void moved(ApplicationId id, String queue) {
		if (areTold()) {
			feed.tell(Records.record(Records.APPLICATION_MOVE, id.toString(), queue));
		}
	}

	/** Its priority may have changed. */
	void updated(RMApp application) {
		if (areTold() && application.getApplicationPriority() != null) {
			feed.tell(Records.record(Records.APPLICATION_PRIORITY, application.getApplicationId().toString(),
				Integer.toString(application.getApplicationPriority().getPriority())));
		}
	}

	/** Tell of lifetimes that have changed: the ResourceManager calls nothing when it changes one. */
	void lookAtLifetimes() {
		if (!areTold()) {
			return;
		}
		for (RMApp application : context.getRMApps().values()) {
			Long expiry = application.getApplicationTimeouts().get(ApplicationTimeoutType.LIFETIME);
			if (expiry == null || application.isAppInCompletedStates()) {
				continue;
			}
			Long told = expiries.put(application.getApplicationId(), expiry);
			if (told != null && !told.equals(expiry)) {
				feed.tell(Records.record(Records.APPLICATION_LIFETIME, application.getApplicationId().toString(), Records.time(expiry)));
			}
		}
	}

	/** Values of the parameters of Admission.SUBMIT. */
	String[] describe(AppAddedSchedulerEvent event) {
		RMApp application = context.getRMApps().get(event.getApplicationId());
		ApplicationSubmissionContext submission = application.getApplicationSubmissionContext();
		List<ResourceRequest> master = application.getAMResourceRequests();
		Long lifetime = submission.getApplicationTimeouts() == null ? null
			: submission.getApplicationTimeouts().get(ApplicationTimeoutType.LIFETIME);
		boolean hasMaster = master != null && !master.isEmpty();

		return new String[] {
			event.getApplicationId().toString(),
			event.getUser(),
			String.join(",", UserGroupInformation.createRemoteUser(event.getUser()).getGroupNames()),
			event.getQueue(),
			application.getName(),
			hasMaster ? Records.resource(master.get(0).getCapability()) : null,
			event.getApplicatonPriority() == null ? null : Integer.toString(event.getApplicatonPriority().getPriority()),
			lifetime == null ? null : lifetime.toString(),
			submission.getApplicationTags() == null ? null : String.join("\t", submission.getApplicationTags()),
			hasMaster ? master.get(0).getNodeLabelExpression() : null,
			Boolean.toString(submission.getUnmanagedAM()),
			// what is told decides nothing, and names no project that events do not name
			conf.applications == FeedConfiguration.Applications.ASK ? events.payerOf(application) : events.projectOf(application),
		};
	}
}

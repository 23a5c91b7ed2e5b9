package org.yquota.yarn;

import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.SystemMetricsPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * Wraps the ResourceManager's own publisher. Its methods are called when a container starts or
 * ends, with the ResourceManager's own time, and when an application changes.
 */
final class FeedPublisher implements SystemMetricsPublisher {
	private final SystemMetricsPublisher publisher;
	private final ContainerEvents events;
	/** null if applications are not reported */
	private final ApplicationRecords applications;

	FeedPublisher(SystemMetricsPublisher publisher, ContainerEvents events, ApplicationRecords applications) {
		this.publisher = publisher instanceof FeedPublisher ? ((FeedPublisher) publisher).publisher : publisher;
		this.events = events;
		this.applications = applications;
	}

	@Override
	public void containerCreated(RMContainer container, long createdTime) {
		events.started(container, createdTime);
		publisher.containerCreated(container, createdTime);
	}

	@Override
	public void containerFinished(RMContainer container, long finishedTime) {
		events.finished(container, finishedTime);
		publisher.containerFinished(container, finishedTime);
	}

	@Override
	public void appCreated(RMApp app, long createdTime) {
		publisher.appCreated(app, createdTime);
	}

	@Override
	public void appLaunched(RMApp app, long launchTime) {
		publisher.appLaunched(app, launchTime);
	}

	@Override
	public void appACLsUpdated(RMApp app, String appViewACLs, long updatedTime) {
		publisher.appACLsUpdated(app, appViewACLs, updatedTime);
	}

	@Override
	public void appUpdated(RMApp app, long updatedTime) {
		if (applications != null) {
			applications.look(app);
		}
		publisher.appUpdated(app, updatedTime);
	}

	@Override
	public void appStateUpdated(RMApp app, YarnApplicationState appState, long updatedTime) {
		publisher.appStateUpdated(app, appState, updatedTime);
	}

	@Override
	public void appFinished(RMApp app, RMAppState state, long finishedTime) {
		publisher.appFinished(app, state, finishedTime);
	}

	@Override
	public void appAttemptRegistered(RMAppAttempt appAttempt, long registeredTime) {
		publisher.appAttemptRegistered(appAttempt, registeredTime);
	}

	@Override
	public void appAttemptFinished(RMAppAttempt appAttempt, RMAppAttemptState state, RMApp app, long finishedTime) {
		publisher.appAttemptFinished(appAttempt, state, app, finishedTime);
	}
}

package org.yquota.yarn;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStatusEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The CapacityScheduler, which tells yquota what it does: the value of
 * {@code yarn.resourcemanager.scheduler.class}.
 *
 * <p>It decides nothing otherwise.  Every decision is its superclass's; what it hears
 * on the way goes to the feed, which never makes it wait.  If the feed is to ask yquota about
 * applications, their events wait in a thread of their own.
 */
public class FeedingCapacityScheduler extends CapacityScheduler {
	private static final Logger LOG = LoggerFactory.getLogger(FeedingCapacityScheduler.class);

	private FeedConfiguration feedConf;
	private ContainerEvents events;
	private Admission admission;
	private ExecutorService asking;
	/** applications about which yquota is asked; true once it has let them in */
	private final Map<ApplicationId, Boolean> asked = new ConcurrentHashMap<>();

	@Override
	public void serviceInit(Configuration conf) throws Exception {
		feedConf = new FeedConfiguration(conf);
		if (!conf.getBoolean(YarnConfiguration.APPLICATION_HISTORY_SAVE_NON_AM_CONTAINER_META_INFO,
				YarnConfiguration.DEFAULT_APPLICATION_HISTORY_SAVE_NON_AM_CONTAINER_META_INFO)) {
			LOG.error("{} is false: yquota hears of application masters alone",
				YarnConfiguration.APPLICATION_HISTORY_SAVE_NON_AM_CONTAINER_META_INFO);
		}
		super.serviceInit(conf);
		getRMContext().getDispatcher().register(RMNodeEventType.class, new StatusListener());
	}

	@Override
	public void serviceStart() throws Exception {
		RMContext context = getRMContext();

		events = new ContainerEvents(feedConf, this, context);
		context.setSystemMetricsPublisher(new FeedPublisher(context.getSystemMetricsPublisher(), events));
		if (feedConf.applications == FeedConfiguration.Applications.ASK) {
			admission = new Admission(feedConf);
			asking = Executors.newSingleThreadExecutor(task -> {
				Thread thread = new Thread(task, "yquota feed, asking");
				thread.setDaemon(true);
				return thread;
			});
		}
		events.feed().start(System.currentTimeMillis());
		super.serviceStart();
	}

	@Override
	public void serviceStop() throws Exception {
		super.serviceStop();
		if (asking != null) {
			asking.shutdownNow();
			admission.close();
		}
		if (events != null) {
			events.feed().stop();
		}
	}

	/** Containers that an application has now. */
	Collection<RMContainer> containersOf(ApplicationId id) {
		SchedulerApplication<FiCaSchedulerApp> application = applications.get(id);
		FiCaSchedulerApp attempt = application == null ? null : application.getCurrentAppAttempt();

		return attempt == null ? Collections.emptyList() : attempt.getLiveContainers();
	}

	@Override
	public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> ask, List<SchedulingRequest> schedulingRequests,
			List<ContainerId> release, List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
		Allocation allocation = super.allocate(attempt, ask, schedulingRequests, release, blacklistAdditions, blacklistRemovals, updates);
		long now = System.currentTimeMillis();

		// An application master fetches updates, and the scheduler makes them as it does so.
		for (List<Container> updated : updatesOf(allocation)) {
			if (updated != null) {
				updated.forEach(container -> events.updated(container, now));
			}
		}
		return allocation;
	}

	private static List<List<Container>> updatesOf(Allocation allocation) {
		List<List<Container>> updates = new ArrayList<>();

		updates.add(allocation.getIncreasedContainers());
		updates.add(allocation.getDecreasedContainers());
		updates.add(allocation.getPromotedContainers());
		updates.add(allocation.getDemotedContainers());
		return updates;
	}

	@Override
	public String moveApplication(ApplicationId application, String targetQueue) throws YarnException {
		String queue = super.moveApplication(application, targetQueue);

		events.moved(application, queue, System.currentTimeMillis());
		return queue;
	}

	@Override
	public void recoverContainersOnNode(List<NMContainerStatus> reports, RMNode node) {
		if (reports != null) {
			reports.forEach(report -> events.recovered(report.getContainerId()));
		}
		super.recoverContainersOnNode(reports, node);
	}

	@Override
	public void handle(SchedulerEvent event) {
		switch (event.getType()) {
			case APP_ADDED:
				if (isKeptBack((AppAddedSchedulerEvent) event)) {
					return;
				}
				break;
			case APP_REMOVED:
				removed((AppRemovedSchedulerEvent) event);
				break;
			default:
				break;
		}
		super.handle(event);
		tellOfNode(event);
	}

	private void tellOfNode(SchedulerEvent event) {
		switch (event.getType()) {
			case NODE_ADDED:
				tellNode(((NodeAddedSchedulerEvent) event).getAddedRMNode());
				break;
			case NODE_RESOURCE_UPDATE:
				tellNode(((NodeResourceUpdateSchedulerEvent) event).getRMNode());
				break;
			case NODE_LABELS_UPDATE:
				((NodeLabelsUpdateSchedulerEvent) event).getUpdatedNodeToLabels().keySet().forEach(id -> {
					RMNode node = getRMContext().getRMNodes().get(id);
					if (node != null) {
						tellNode(node);
					}
				});
				break;
			case NODE_REMOVED:
				events.feed().tell(Records.record(Records.NODE_LOST,
					((NodeRemovedSchedulerEvent) event).getRemovedRMNode().getNodeID().toString(),
					Records.time(System.currentTimeMillis())));
				break;
			default:
				break;
		}
	}

	private void tellNode(RMNode node) {
		String label = node.getNodeLabels().stream().findFirst().orElse("");

		events.feed().tell(Records.record(Records.NODE, node.getNodeID().toString(), Records.resource(node.getTotalCapability()),
			node.getRackName(), label, Records.time(System.currentTimeMillis())));
	}

	/** Tell of an application, or ask about it; true if its event has to wait for the answer. */
	private boolean isKeptBack(AppAddedSchedulerEvent event) {
		ApplicationId id = event.getApplicationId();

		if (event.getIsAppRecovering() || feedConf.applications == FeedConfiguration.Applications.NONE) {
			return false;
		} else if (asked.remove(id, true)) {
			return false;
		}
		String[] application = describe(event);
		if (admission == null) {
			events.feed().tell(Records.record(Records.APPLICATION, application));
			return false;
		}
		asked.put(id, false);
		try {
			asking.execute(() -> ask(event, application));
		} catch (RejectedExecutionException e) {
			LOG.info("{} came while the ResourceManager stops", id);
		}
		return true;
	}

	private void ask(AppAddedSchedulerEvent event, String[] application) {
		ApplicationId id = event.getApplicationId();
		String refusal = admission.refusal(application);
		EventHandler<Event> handler = getRMContext().getDispatcher().getEventHandler();

		if (refusal != null) {
			if (asked.remove(id, false)) {
				handler.handle(new RMAppEvent(id, RMAppEventType.APP_REJECTED, refusal));
			}
		} else if (asked.replace(id, false, true)) {
			handler.handle(event);
		} else {
			tellEnd(id, RMAppState.KILLED);
		}
	}

	private void removed(AppRemovedSchedulerEvent event) {
		ApplicationId id = event.getApplicationID();

		if (feedConf.applications != FeedConfiguration.Applications.NONE && !asked.remove(id, false)) {
			tellEnd(id, event.getFinalState());
		}
	}

	private void tellEnd(ApplicationId id, RMAppState state) {
		RMApp application = getRMContext().getRMApps().get(id);

		events.feed().tell(Records.record(Records.APPLICATION_END, id.toString(), state.name(),
			application == null ? null : application.getDiagnostics().toString()));
	}

	/** Values of the parameters of Admission.SUBMIT. */
	private String[] describe(AppAddedSchedulerEvent event) {
		RMApp application = getRMContext().getRMApps().get(event.getApplicationId());
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
			admission == null ? events.projectOf(application) : events.payerOf(application),
		};
	}

	/** Hears what nodes say of their containers. */
	private final class StatusListener implements EventHandler<Event<RMNodeEventType>> {
		@Override
		public void handle(Event<RMNodeEventType> event) {
			if (event instanceof RMNodeStatusEvent && events != null) {
				long now = System.currentTimeMillis();
				for (ContainerStatus status : ((RMNodeStatusEvent) event).getContainers()) {
					events.reported(status, now);
				}
			}
		}
	}
}

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
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
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
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
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
 * A CapacityScheduler that reports its decisions to yquota: the value of
 * {@code yarn.resourcemanager.scheduler.class}.
 *
 * <p>The superclass makes every decision. This class passes records to the feed, which never makes
 * the scheduler wait. If the feed asks yquota about applications, events of these applications wait
 * in a separate thread.
 */
public class FeedingCapacityScheduler extends CapacityScheduler {
	private static final Logger LOG = LoggerFactory.getLogger(FeedingCapacityScheduler.class);

	private FeedConfiguration feedConf;
	private Feed feed;
	private ContainerEvents events;
	/** null if applications are not reported */
	private ApplicationRecords records;
	private Admission admission;
	private ExecutorService asking;
	/** applications about which yquota is asked; true after yquota has accepted the application */
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
		// The feed sends the records of its spool even while this ResourceManager is on standby.
		feed = new Feed(feedConf);
		// Create this object now, because applications are recovered before this service starts.
		events = new ContainerEvents(feedConf, this, getRMContext(), feed);
		if (feedConf.applications != FeedConfiguration.Applications.NONE) {
			// Only in mode ASK do records name the project that pays. Otherwise they only name a project that events
			// name, too.
			records = new ApplicationRecords(getRMContext(),
				feedConf.applications == FeedConfiguration.Applications.ASK ? events::payerOf : events::projectOf, events::queuePath, feed::tell);
		}
		getRMContext().getDispatcher().register(RMNodeEventType.class, new StatusListener());
	}

	@Override
	public void serviceStart() throws Exception {
		RMContext context = getRMContext();

		context.setSystemMetricsPublisher(new FeedPublisher(context.getSystemMetricsPublisher(), events, records));
		if (feedConf.applications == FeedConfiguration.Applications.ASK) {
			admission = new Admission(feedConf);
			asking = Executors.newSingleThreadExecutor(task -> {
				Thread thread = new Thread(task, "yquota feed, asking");
				thread.setDaemon(true);
				return thread;
			});
		}
		feed.start(System.currentTimeMillis(), new Manager());
		super.serviceStart();
	}

	@Override
	public void serviceStop() throws Exception {
		super.serviceStop();
		if (asking != null) {
			asking.shutdownNow();
			admission.close();
		}
		if (feed != null) {
			feed.stop();
		}
	}

	/** Returns the present containers of an application. */
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

		// The scheduler makes updates when the application master fetches them.
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
			events.recovered(reports, node.getNodeID(), System.currentTimeMillis());
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
			case NODE_REMOVED:
				FiCaSchedulerNode lost = getNode(((NodeRemovedSchedulerEvent) event).getRemovedRMNode().getNodeID());
				if (lost != null) {
					events.nodeLost(lost.getCopiedListOfRunningContainers());
				}
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
				feed.tell(Records.record(Records.NODE_LOST,
					((NodeRemovedSchedulerEvent) event).getRemovedRMNode().getNodeID().toString(),
					Records.time(System.currentTimeMillis())));
				break;
			default:
				break;
		}
	}

	private void tellNode(RMNode node) {
		String label = node.getNodeLabels().stream().findFirst().orElse("");

		feed.tell(Records.record(Records.NODE, node.getNodeID().toString(), Records.resource(node.getTotalCapability()),
			node.getRackName(), label, Records.time(System.currentTimeMillis())));
	}

	/** Reports an application, or asks about it. Returns whether its event has to wait for the answer. */
	private boolean isKeptBack(AppAddedSchedulerEvent event) {
		ApplicationId id = event.getApplicationId();

		if (records == null) {
			return false;
		} else if (isInState(STATE.INITED)) {
			// The ResourceManager recovers applications; applications without an attempt come as if they were new.
			records.recovered(id);
			return false;
		} else if (asked.remove(id, true)) {
			return false;
		}
		ApplicationRecords.Submission application = records.submission(id);
		if (admission == null) {
			application.tell();
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

	private void ask(AppAddedSchedulerEvent event, ApplicationRecords.Submission application) {
		ApplicationId id = event.getApplicationId();
		Admission.Answer answer = admission.answer(application.values);
		EventHandler<Event> handler = getRMContext().getDispatcher().getEventHandler();

		if (answer.refusal != null) {
			if (asked.remove(id, false)) {
				handler.handle(new RMAppEvent(id, RMAppEventType.APP_REJECTED, answer.refusal));
			}
			return;
		}
		if (answer.isKnown) {
			application.isKnown();
		} else {
			application.tell();
		}
		if (asked.replace(id, false, true)) {
			handler.handle(event);
		} else {
			records.ended(id, RMAppState.KILLED);
		}
	}

	private void removed(AppRemovedSchedulerEvent event) {
		ApplicationId id = event.getApplicationID();

		if (records != null && !asked.remove(id, false)) {
			records.ended(id, event.getFinalState());
		}
		events.ended(id);
	}

	/** Answers the requests of the feed. */
	private final class Manager implements Feed.Manager {
		@Override
		public String runningContainers(long asOf) {
			return events.list(asOf);
		}

		@Override
		public void lookAround() {
			if (records != null) {
				records.lookAtAll();
			}
		}

		@Override
		public void compare(boolean hasGap) {
			if (records != null) {
				if (hasGap) {
					records.tellAgain();
				}
				records.tellQueues();
				records.tellEnded();
			}
		}
	}

	/** Receives the reports of nodes about their containers. */
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

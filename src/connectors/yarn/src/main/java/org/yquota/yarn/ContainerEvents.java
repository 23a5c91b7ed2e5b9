package org.yquota.yarn;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerSubState;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/**
 * Makes the events of containers from the scheduler's data.
 *
 * <p>During an update of a container, the scheduler keeps the added or returned resources in a
 * temporary container. Temporary containers are never reported. Their key names the container that
 * is updated.
 */
final class ContainerEvents {
	private final FeedConfiguration conf;
	private final FeedingCapacityScheduler scheduler;
	private final RMContext context;
	private final Feed feed;
	/** containers whose start was reported, and whose end was not */
	private final Set<ContainerId> live = ConcurrentHashMap.newKeySet();
	/** whether the node of an opportunistic container runs it; empty until the node has reported this */
	private final Map<ContainerId, Optional<Boolean>> running = new ConcurrentHashMap<>();
	/**
	 * opportunistic containers that exist when the feed begins; they are reported when their node says whether it runs
	 * them
	 */
	private final Map<ContainerId, ObjectNode> untold = new ConcurrentHashMap<>();
	/** containers that ended because their node was lost; the node may come back with them */
	private final Set<ContainerId> lost = ConcurrentHashMap.newKeySet();

	ContainerEvents(FeedConfiguration conf, FeedingCapacityScheduler scheduler, RMContext context, Feed feed) {
		this.conf = conf;
		this.scheduler = scheduler;
		this.context = context;
		this.feed = feed;
	}

	void started(RMContainer container, long time) {
		// The scheduler creates recovered containers again. They are in one of the two sets.
		if (isTemporary(container) || lost.contains(container.getContainerId()) || !live.add(container.getContainerId())) {
			return;
		}
		SchedulerApplicationAttempt attempt = scheduler.getCurrentAttemptForContainer(container.getContainerId());
		Records.Event event = new Records.Event("CONTAINER_START", container.getContainerId().toString(), time, conf.source)
			.project(project(container)).application(applicationId(container).toString(), user(container))
			.queue(queue(container)).node(container.getAllocatedNode().toString())
			.allocation(container.getAllocatedResource()).executionType(container.getExecutionType().name())
			.asked(container.getAllocatedPriority().getPriority(), container.getAllocatedSchedulerKey().getAllocationRequestId(),
				container.getNodeLabelExpression())
			.isMaster(container.isAMContainer() || attempt != null && attempt.isWaitingForAMContainer());
		if (container.getExecutionType() == ExecutionType.OPPORTUNISTIC) {
			running.put(container.getContainerId(), Optional.of(false));
			event.isRunning(false);
		}
		feed.tell(event.record());
	}

	/**
	 * Handles the containers of a node that registers after a restart of the ResourceManager, or after its own absence.
	 * yquota already knows most of these containers.
	 */
	void recovered(List<NMContainerStatus> reports, NodeId node, long time) {
		ArrayNode list = new ObjectMapper().createArrayNode();

		for (NMContainerStatus report : reports) {
			ContainerId id = report.getContainerId();
			RMApp application = context.getRMApps().get(id.getApplicationAttemptId().getApplicationId());
			// The end of a lost container was already reported, also to its application.
			if (application == null || lost.contains(id) || !live.add(id)) {
				continue;
			}
			boolean isOpportunistic = report.getExecutionType() == ExecutionType.OPPORTUNISTIC;
			if (isOpportunistic) {
				running.put(id, Optional.empty());
			}
			// Containers that run when the feed begins were not reported before.
			if (feed.isFirst() && isOpportunistic) {
				untold.put(id, describe(report, application, node));
			} else if (feed.isFirst()) {
				list.add(describe(report, application, node));
			}
		}
		if (list.size() > 0) {
			feed.tell(Records.recovered(conf.source, list.toString(), time));
		}
	}

	/**
	 * Reports a container of "untold", whose node has now said whether it runs the container. Returns whether there was
	 * one.
	 */
	private boolean tellRecovered(ContainerId id, Boolean runs, long time) {
		ObjectNode container = untold.remove(id);

		if (container != null) {
			feed.tell(Records.recovered(conf.source, new ObjectMapper().createArrayNode().add(container.put("is_running", runs)).toString(), time));
		}
		return container != null;
	}

	void finished(RMContainer container, long time) {
		if (isTemporary(container) || !live.remove(container.getContainerId())) {
			return;
		}
		tellRecovered(container.getContainerId(), null, time);
		running.remove(container.getContainerId());
		feed.tell(new Records.Event("CONTAINER_FINISH", container.getContainerId().toString(), time, conf.source)
			.exitStatus(container.getContainerExitStatus()).record());
	}

	/** Reports a change of the size or execution type of a container. */
	void updated(Container container, long time) {
		if (live.contains(container.getId())) {
			feed.tell(new Records.Event("CONTAINER_UPDATE", container.getId().toString(), time, conf.source)
				.allocation(container.getResource()).executionType(container.getExecutionType().name()).record());
			if (container.getExecutionType() == ExecutionType.OPPORTUNISTIC) {
				running.putIfAbsent(container.getId(), Optional.of(true));
			}
		}
	}

	void nodeLost(Collection<RMContainer> containers) {
		containers.forEach(container -> lost.add(container.getContainerId()));
	}

	void ended(ApplicationId application) {
		lost.removeIf(container -> container.getApplicationAttemptId().getApplicationId().equals(application));
	}

	void moved(ApplicationId application, String queue, long time) {
		for (RMContainer container : scheduler.containersOf(application)) {
			if (live.contains(container.getContainerId())) {
				feed.tell(new Records.Event("CONTAINER_UPDATE", container.getContainerId().toString(), time, conf.source)
					.queue(queue).record());
			}
		}
	}

	/**
	 * Handles the status that a node reports of a container. Reports when an opportunistic container starts or stops
	 * running.
	 */
	void reported(ContainerStatus status, long time) {
		boolean runs = status.getContainerSubState() == ContainerSubState.RUNNING;
		Optional<Boolean> known = running.get(status.getContainerId());

		if (known != null && !known.equals(Optional.of(runs)) && running.replace(status.getContainerId(), known, Optional.of(runs))
				&& !tellRecovered(status.getContainerId(), runs, time)) {
			feed.tell(new Records.Event("CONTAINER_UPDATE", status.getContainerId().toString(), time, conf.source)
				.isRunning(runs).record());
		}
	}

	/** Returns the running containers as an argument of yquota.reconcile(), without those allocated after "asOf". */
	String list(long asOf) {
		ArrayNode list = new ObjectMapper().createArrayNode();

		for (ApplicationId application : context.getRMApps().keySet()) {
			for (RMContainer container : scheduler.containersOf(application)) {
				if (!isTemporary(container) && container.getCreationTime() <= asOf) {
					live.add(container.getContainerId());
					list.add(describe(container));
				}
			}
		}
		return list.toString();
	}

	private ObjectNode describe(RMContainer container) {
		ObjectNode object = new ObjectMapper().createObjectNode();

		object.put("container_id", container.getContainerId().toString());
		object.put("project", project(container));
		object.put("application_id", applicationId(container).toString());
		object.put("username", user(container));
		object.put("queue", queue(container));
		object.put("node", container.getAllocatedNode().toString());
		object.put("allocation", Records.resource(container.getAllocatedResource()));
		object.put("execution_type", container.getExecutionType().name());
		object.put("started_at", Records.time(container.getCreationTime()));
		running.getOrDefault(container.getContainerId(), Optional.empty()).ifPresent(runs -> object.put("is_running", runs));
		return object;
	}

	private ObjectNode describe(NMContainerStatus report, RMApp application, NodeId node) {
		ObjectNode object = new ObjectMapper().createObjectNode();

		object.put("container_id", report.getContainerId().toString());
		object.put("project", projectOf(application));
		object.put("application_id", application.getApplicationId().toString());
		object.put("username", application.getUser());
		object.put("queue", queuePath(application.getQueue()));
		object.put("node", node.toString());
		object.put("allocation", Records.resource(report.getAllocatedResource()));
		object.put("execution_type", report.getExecutionType().name());
		object.put("started_at", Records.time(report.getCreationTime()));
		return object;
	}

	private static boolean isTemporary(RMContainer container) {
		return container.getContainerId() == null || container.getAllocatedSchedulerKey() != null
			&& container.getAllocatedSchedulerKey().getContainerToUpdate() != null;
	}

	private static ApplicationId applicationId(RMContainer container) {
		return container.getApplicationAttemptId().getApplicationId();
	}

	private String user(RMContainer container) {
		RMApp application = context.getRMApps().get(applicationId(container));

		return application == null ? null : application.getUser();
	}

	private String queue(RMContainer container) {
		FiCaSchedulerApp attempt = scheduler.getCurrentAttemptForContainer(container.getContainerId());

		return attempt == null ? container.getQueueName() : ((CSQueue) attempt.getQueue()).getQueuePath();
	}

	String queuePath(String name) {
		CSQueue queue = scheduler.getQueue(name);

		return queue == null ? name : queue.getQueuePath();
	}

	/** Returns the project of a container, or null if yquota takes the project from the user's name. */
	private String project(RMContainer container) {
		if (conf.projectFrom == FeedConfiguration.ProjectFrom.QUEUE) {
			return lastName(queue(container));
		}
		return projectOf(context.getRMApps().get(applicationId(container)));
	}

	String projectOf(RMApp application) {
		if (application == null) {
			return null;
		}
		switch (conf.projectFrom) {
			case QUEUE:
				return lastName(application.getQueue());
			case TAG:
				for (String tag : application.getApplicationTags()) {
					if (tag.startsWith(conf.projectTagPrefix)) {
						return tag.substring(conf.projectTagPrefix.length());
					}
				}
				return null;
			default:
				return null;
		}
	}

	/** Returns the project that pays. Without a named project, this is the first part of the username, as in yquota. */
	String payerOf(RMApp application) {
		String project = projectOf(application);

		return project == null ? application.getUser().split("__", 2)[0] : project;
	}

	private static String lastName(String queuePath) {
		return queuePath == null ? null : queuePath.substring(queuePath.lastIndexOf('.') + 1);
	}
}

package yquota.oracle;

import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.UndeclaredThrowableException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceLimits;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * A resource manager with its scheduler. Its nodes are only names and sizes. Each operation returns
 * after all events that it caused have been handled.
 */
final class Cluster implements AutoCloseable
{
	/** The part of an application's id that stands for the cluster. It is the same in all records. */
	static final long TIMESTAMP = 1000000000000L;

	private static long lastSubmission;

	final MockRM manager;
	final RecordingScheduler scheduler;
	final List<String> labels = new ArrayList<>();
	final Map<String, RMNode> nodes = new TreeMap<>();
	private final Configuration configuration;

	/** Starts a cluster. Throws Hadoop's exception when Hadoop refuses the configuration. */
	Cluster(JsonNode properties, JsonNode labels) throws Exception
	{
		DefaultMetricsSystem.setMiniClusterMode(true);
		QueueMetrics.clearQueueMetrics();
		configuration = configuration(properties);
		if (labels.size() > 0)
			configuration.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
		ResourceUtils.resetResourceTypes(configuration);
		// Hadoop keeps groups across all clusters of this Java machine.
		Groups.getUserToGroupsMappingService(configuration).refresh();
		manager = new MockRM(configuration);
		manager.start();
		scheduler = (RecordingScheduler) manager.getResourceScheduler();
		this.labels.add(RMNodeLabelsManager.NO_LABEL);
		List<NodeLabel> added = new ArrayList<>();
		for (JsonNode label : labels)
		{
			this.labels.add(label.get("name").asText());
			added.add(NodeLabel.newInstance(label.get("name").asText(), label.get("exclusive").asBoolean()));
		}
		if (!added.isEmpty())
			labelManager().addToCluserNodeLabels(added);
		settle();
	}

	@Override
	public void close()
	{
		manager.stop();
	}

	private static Configuration configuration(JsonNode properties) throws IOException
	{
		Configuration configuration = new Configuration(false);

		configuration.addResource("core-default.xml");
		configuration.addResource("yarn-default.xml");
		writeQueues(properties);
		for (Iterator<Map.Entry<String, JsonNode>> fields = properties.fields(); fields.hasNext();)
		{
			Map.Entry<String, JsonNode> property = fields.next();

			if (!isOfQueues(property.getKey()))
				configuration.set(property.getKey(), property.getValue().asText());
		}
		configuration.set(YarnConfiguration.RM_SCHEDULER, RecordingScheduler.class.getName());
		configuration.setBoolean(YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME, false);
		// Hadoop takes the size of the largest node for a maximum only after this time.
		configuration.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
		// By default, all resource managers of the machine share one directory.
		configuration.set(YarnConfiguration.FS_NODE_ATTRIBUTE_STORE_ROOT_DIR, Paths.get(System.getProperty("oracle.configuration"), "node-attributes").toUri().toString());
		configuration.set("hadoop.security.group.mapping", UserGroups.class.getName());
		return configuration;
	}

	private static boolean isOfQueues(String property)
	{
		return property.startsWith("yarn.scheduler.capacity.");
	}

	/**
	 * Writes the properties of queues to a file. Parts of Hadoop read this file from the class path
	 * by themselves.
	 */
	private static void writeQueues(JsonNode properties) throws IOException
	{
		Configuration queues = new Configuration(false);
		Path path = Paths.get(System.getProperty("oracle.configuration"), "capacity-scheduler.xml");

		for (Iterator<Map.Entry<String, JsonNode>> fields = properties.fields(); fields.hasNext();)
		{
			Map.Entry<String, JsonNode> property = fields.next();

			if (isOfQueues(property.getKey()))
				queues.set(property.getKey(), property.getValue().asText());
		}
		try (OutputStream out = Files.newOutputStream(path))
		{
			queues.writeXml(out);
		}
	}

	void refresh(JsonNode properties) throws Exception
	{
		writeQueues(properties);
		scheduler.reinitialize(configuration, manager.getRMContext());
		settle();
	}

	RMNodeLabelsManager labelManager()
	{
		return manager.getRMContext().getNodeLabelManager();
	}

	/** Waits until all events are handled, and lets masters run that have got their container. */
	void settle() throws Exception
	{
		boolean launched;

		do
		{
			manager.drainEvents();
			launched = false;
			for (RMApp application : manager.getRMContext().getRMApps().values())
			{
				RMAppAttempt attempt = application.getCurrentAppAttempt();

				if (attempt != null && attempt.getAppAttemptState() == RMAppAttemptState.ALLOCATED)
				{
					manager.sendAMLaunched(attempt.getAppAttemptId());
					launched = true;
				}
			}
		} while (launched);
	}

	void addNode(String name, String rack, String label, Resource total) throws Exception
	{
		NodeId id = NodeId.newInstance(name, 1234);
		RMNode node = mock(RMNode.class, withSettings().stubOnly());

		NetUtils.addStaticResolution(name, "127.0.0.1");
		when(node.getNodeID()).thenReturn(id);
		when(node.getHostName()).thenReturn(name);
		when(node.getRackName()).thenReturn(rack);
		when(node.getHttpAddress()).thenReturn(name + ":80");
		when(node.getNodeAddress()).thenReturn(name + ":1234");
		when(node.getState()).thenReturn(NodeState.RUNNING);
		when(node.getTotalCapability()).thenReturn(total);
		when(node.getNodeLabels()).thenAnswer(call -> labelManager().getLabelsOnNode(id));
		if (!label.isEmpty())
			labelManager().replaceLabelsOnNode(Collections.singletonMap(id, Collections.singleton(label)));
		nodes.put(name, node);
		scheduler.handle(new NodeAddedSchedulerEvent(node));
		settle();
	}

	void removeNode(String name) throws Exception
	{
		scheduler.handle(new NodeRemovedSchedulerEvent(nodes.remove(name)));
		settle();
	}

	void resizeNode(String name, Resource total) throws Exception
	{
		RMNode node = nodes.get(name);

		when(node.getTotalCapability()).thenReturn(total);
		scheduler.handle(new NodeResourceUpdateSchedulerEvent(node, ResourceOption.newInstance(total, -1)));
		settle();
	}

	void labelNode(String name, String label) throws Exception
	{
		NodeId id = nodes.get(name).getNodeID();
		Set<String> labels = label.isEmpty() ? Collections.emptySet() : Collections.singleton(label);

		labelManager().replaceLabelsOnNode(Collections.singletonMap(id, labels));
		scheduler.handle(new NodeLabelsUpdateSchedulerEvent(Collections.singletonMap(id, labels)));
		settle();
	}

	void heartbeat(String name) throws Exception
	{
		scheduler.handle(new NodeUpdateSchedulerEvent(nodes.get(name)));
		settle();
	}

	/** Computes again everything that the scheduler keeps from one heartbeat to the next. */
	void update() throws Exception
	{
		Resource total = scheduler.getClusterResource();

		scheduler.getRootQueue().updateClusterResource(total, new ResourceLimits(total));
		settle();
	}

	static ApplicationId applicationId(int number)
	{
		return ApplicationId.newInstance(TIMESTAMP, number);
	}

	/**
	 * Submits an application as a client does. Returns null, or the message with which the service
	 * refused it.
	 */
	String submit(ApplicationSubmissionContext context, String user) throws Exception
	{
		// Fair order compares the times of submission in milliseconds, so every application needs a
		// millisecond of its own.
		while (System.currentTimeMillis() <= lastSubmission)
			Thread.onSpinWait();
		lastSubmission = System.currentTimeMillis();
		return call(user, client -> client.submitApplication(SubmitApplicationRequest.newInstance(context)));
	}

	/** A client's request to the resource manager. */
	interface Request
	{
		void send(ApplicationClientProtocol client) throws Exception;
	}

	/** Sends a request as a user. Returns null, or the message with which the service refused it. */
	String call(String user, Request request) throws Exception
	{
		try
		{
			UserGroupInformation.createRemoteUser(user).doAs((PrivilegedExceptionAction<Void>) () ->
			{
				request.send(manager.getClientRMService());
				return null;
			});
			return null;
		}
		catch (UndeclaredThrowableException e)
		{
			return String.valueOf(e.getCause().getMessage());
		}
		catch (IOException e)
		{
			return String.valueOf(e.getMessage());
		}
		finally
		{
			settle();
		}
	}

	/** Returns the applications that have not ended, by number. */
	Map<Integer, RMApp> applications()
	{
		Map<Integer, RMApp> live = new TreeMap<>();

		for (RMApp application : manager.getRMContext().getRMApps().values())
			if (attempt(application) != null)
				live.put(application.getApplicationId().getId(), application);
		return live;
	}

	/** Returns the scheduler's object of an application, or null. */
	FiCaSchedulerApp attempt(RMApp application)
	{
		RMAppAttempt attempt = application == null ? null : application.getCurrentAppAttempt();

		return attempt == null ? null : scheduler.getApplicationAttempt(attempt.getAppAttemptId());
	}

	FiCaSchedulerApp attempt(int number)
	{
		return attempt(application(number));
	}

	/** Returns an application, also one that has ended, or null if it was never accepted. */
	RMApp application(int number)
	{
		return manager.getRMContext().getRMApps().get(applicationId(number));
	}

	static boolean isActive(FiCaSchedulerApp attempt)
	{
		return ((AbstractLeafQueue) attempt.getQueue()).getOrderingPolicy().getSchedulableEntities().contains(attempt);
	}

	/** Returns the queue with this path, or the only queue with this name; else null. */
	CSQueue queue(String name)
	{
		return scheduler.getQueue(name);
	}

	/** Returns the message of the first cause. */
	static String reason(Throwable e)
	{
		return e.getCause() == null ? e.getMessage() : reason(e.getCause());
	}

	/**
	 * Returns whether a queue has access to a label. A queue without access may still use the rest
	 * of a label that is not exclusive. Only figures of users show this use.
	 */
	static boolean mayUse(CSQueue queue, String label)
	{
		return label.isEmpty() || queue.getAccessibleNodeLabels().contains(label) || queue.getAccessibleNodeLabels().contains(RMNodeLabelsManager.ANY);
	}

	/** Returns all queues, parents before their children. */
	Map<String, CSQueue> queues()
	{
		Map<String, CSQueue> queues = new LinkedHashMap<>();

		collect(scheduler.getRootQueue(), queues);
		return queues;
	}

	private static void collect(CSQueue queue, Map<String, CSQueue> queues)
	{
		queues.put(queue.getQueuePath(), queue);
		if (queue.getChildQueues() != null)
			for (CSQueue child : queue.getChildQueues())
				collect(child, queues);
	}
}

package yquota.oracle;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.event.AsyncDispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.records.ContainerQueuingLimit;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.ContainerManager;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerState;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.UpdateContainerTokenEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.monitor.ContainersMonitor;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.scheduler.ContainerScheduler;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.scheduler.ContainerSchedulerEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.scheduler.ContainerSchedulerEventType;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.scheduler.OpportunisticContainersQueuePolicy;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.scheduler.UpdateContainerSchedulerEvent;
import org.apache.hadoop.yarn.server.nodemanager.metrics.NodeManagerMetrics;
import org.apache.hadoop.yarn.server.nodemanager.recovery.NMStateStoreService;

/**
 * The area "container-queue": which containers a node starts, pauses and kills. Containers only
 * note the calls that they get.
 */
public final class ContainerQueue implements Area
{
	private ContainerScheduler scheduler;
	private ArrayNode events;
	private final Map<Integer, Told> containers = new TreeMap<>();

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new ContainerQueue(), arguments);
	}

	/** A container. Its state follows only from the calls that it got. */
	private final class Told
	{
		final int number;
		final ContainerId id;
		final Container container = mock(Container.class, withSettings().stubOnly());
		final ContainerTokenIdentifier token = mock(ContainerTokenIdentifier.class, withSettings().stubOnly());
		ExecutionType type;
		ContainerState state = ContainerState.SCHEDULED;

		Told(int number, ExecutionType given, Resource size)
		{
			this.number = number;
			type = given;
			id = ContainerId.newContainerId(ApplicationAttemptId.newInstance(ApplicationId.newInstance(0, 1), 1), number);
			when(token.getExecutionType()).thenAnswer(call -> type);
			when(container.getContainerId()).thenReturn(id);
			when(container.getContainerTokenIdentifier()).thenReturn(token);
			when(container.getResource()).thenReturn(size);
			when(container.getContainerState()).thenAnswer(call -> state);
			doAnswer(call -> note("start", ContainerState.RUNNING)).when(container).sendLaunchEvent();
			doAnswer(call -> note("pause", ContainerState.PAUSING)).when(container).sendPauseEvent(anyString());
			doAnswer(call -> note("kill", ContainerState.KILLING, call.getArgument(0).toString(), call.getArgument(1)))
				.when(container).sendKillEvent(anyInt(), anyString());
		}

		private Object note(String what, ContainerState becomes, String... more)
		{
			ArrayNode event = events.addArray().add(what).add(number);

			for (String text : more)
				event.add(text);
			state = becomes;
			return null;
		}

		void tell(ContainerState becomes, ContainerSchedulerEventType event)
		{
			state = becomes;
			scheduler.handle(new ContainerSchedulerEvent(container, event));
		}
	}

	private static Resource amounts(JsonNode pair)
	{
		return Resource.newInstance(pair.get(0).asLong(), pair.get(1).asInt());
	}

	@Override
	public ObjectNode record(ObjectNode workload)
	{
		ObjectNode record = workload.deepCopy();

		containers.clear();
		scheduler = scheduler(workload);
		for (JsonNode node : record.get("steps"))
		{
			ObjectNode step = (ObjectNode) node;

			step.remove(Arrays.asList("events", "utilization", "queued_g_queued_o_running", "skipped", "ended", "paused"));
			events = Oracle.JSON.createArrayNode();
			play(step);
			step.set("events", events);
			ResourceUtilization used = scheduler.getCurrentUtilization();
			step.putArray("utilization").add(used.getPhysicalMemory()).add(used.getVirtualMemory()).add((int) used.getCPU());
			step.putArray("queued_g_queued_o_running").add(scheduler.getNumQueuedGuaranteedContainers())
				.add(scheduler.getNumQueuedOpportunisticContainers()).add(scheduler.getNumRunningContainers());
		}
		return record.put("reported_queue_capacity", scheduler.getOpportunisticQueueCapacity());
	}

	private ContainerScheduler scheduler(ObjectNode workload)
	{
		Context context = mock(Context.class, withSettings().stubOnly());
		ContainerManager manager = mock(ContainerManager.class, withSettings().stubOnly());
		AsyncDispatcher dispatcher = mock(AsyncDispatcher.class, withSettings().stubOnly());
		ContainersMonitor monitor = monitor(amounts(workload.get("node")), (float) workload.get("vmem_ratio").asDouble(), workload.get("vmem_check").asBoolean());
		EventHandler<Event> handler = event -> {
			if (event instanceof ContainerSchedulerEvent)
				scheduler.handle((ContainerSchedulerEvent) event);
		};

		when(context.getContainerManager()).thenReturn(manager);
		when(manager.getContainersMonitor()).thenReturn(monitor);
		when(context.getNMStateStore()).thenReturn(mock(NMStateStoreService.class, withSettings().stubOnly()));
		when(context.getConf()).thenReturn(new Configuration(false));
		when(dispatcher.getEventHandler()).thenReturn(handler);
		ContainerScheduler made = new ContainerScheduler(context, dispatcher, mock(NodeManagerMetrics.class, withSettings().stubOnly()),
			OpportunisticContainersQueuePolicy.valueOf(workload.get("queue_policy").asText()), workload.get("max_queue_length").asInt());
		made.setUsePauseEventForPreemption(workload.get("use_pause").asBoolean());
		return made;
	}

	private static ContainersMonitor monitor(Resource size, float ratio, boolean checked)
	{
		ContainersMonitor monitor = mock(ContainersMonitor.class, withSettings().stubOnly());
		long physical = size.getMemorySize() << 20;
		long virtual = (long) (ratio * physical);

		when(monitor.getVmemRatio()).thenReturn(ratio);
		when(monitor.isVmemCheckEnabled()).thenReturn(checked);
		when(monitor.getPmemAllocatedForContainers()).thenReturn(physical);
		when(monitor.getVmemAllocatedForContainers()).thenReturn(virtual);
		when(monitor.getVCoresAllocatedForContainers()).thenReturn((long) size.getVirtualCores());
		doAnswer(call -> {
			((ResourceUtilization) call.getArgument(0)).subtractFrom((int) (physical >> 20), (int) (virtual >> 20), size.getVirtualCores());
			return null;
		}).when(monitor).subtractNodeResourcesFromResourceUtilization(any());
		return monitor;
	}

	private void play(ObjectNode step)
	{
		String operation = step.get("op").asText();
		Told told = containers.get(step.path("c").asInt());

		switch (operation)
		{
			case "arrive":
				told = new Told(step.get("c").asInt(), step.get("type").asText().equals("G") ? ExecutionType.GUARANTEED : ExecutionType.OPPORTUNISTIC,
					amounts(step.get("res")));
				containers.put(told.number, told);
				told.tell(ContainerState.SCHEDULED, ContainerSchedulerEventType.SCHEDULE_CONTAINER);
				break;
			case "done":
				if (told == null || told.state == ContainerState.DONE)
					step.put("skipped", true);
				else
					told.tell(ContainerState.DONE, ContainerSchedulerEventType.CONTAINER_COMPLETED);
				break;
			case "done_all_killed":
				tellAll(step.putArray("ended"), ContainerState.KILLING, ContainerState.DONE, ContainerSchedulerEventType.CONTAINER_COMPLETED);
				break;
			case "paused_all":
				tellAll(step.putArray("paused"), ContainerState.PAUSING, ContainerState.PAUSED, ContainerSchedulerEventType.CONTAINER_PAUSED);
				break;
			case "limit":
				ContainerQueuingLimit limit = ContainerQueuingLimit.newInstance();
				limit.setMaxQueueLength(step.get("n").asInt());
				scheduler.updateQueuingLimit(limit);
				break;
			default:
				change(step, told, operation.equals("promote"));
		}
	}

	private void tellAll(ArrayNode numbers, ContainerState from, ContainerState to, ContainerSchedulerEventType event)
	{
		for (Told told : containers.values())
			if (told.state == from)
			{
				numbers.add(told.number);
				told.tell(to, event);
			}
	}

	private void change(ObjectNode step, Told told, boolean promoted)
	{
		if (told == null || told.state == ContainerState.DONE || told.state == ContainerState.KILLING || (told.type == ExecutionType.GUARANTEED) == promoted)
		{
			step.put("skipped", true);
			return;
		}
		told.type = promoted ? ExecutionType.GUARANTEED : ExecutionType.OPPORTUNISTIC;
		scheduler.handle(new UpdateContainerSchedulerEvent(told.container, told.token, new UpdateContainerTokenEvent(told.id, told.token, false, true, promoted)));
	}

	@Override
	public String[] families()
	{
		return new String[] {"node"};
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		Random random = new Random(seed);
		ObjectNode workload = Oracle.JSON.createObjectNode().put("id", "node-" + seed).put("family", family);
		int arrived = 0;

		workload.putArray("node").add(1024 * (2 + random.nextInt(15))).add(2 + random.nextInt(15));
		workload.put("vmem_ratio", 2.1).put("vmem_check", random.nextBoolean()).put("max_queue_length", random.nextInt(6))
			.put("use_pause", random.nextBoolean()).put("queue_policy", random.nextInt(4) == 0 ? "BY_RESOURCES" : "BY_QUEUE_LEN");
		for (int i = 0; i < 40; i++)
		{
			ObjectNode step = workload.withArray("steps").addObject();
			int what = random.nextInt(10);

			if (what < 5 || arrived == 0)
				step.put("op", "arrive").put("c", ++arrived).put("type", random.nextBoolean() ? "G" : "O")
					.putArray("res").add(256 << random.nextInt(5)).add(1 + random.nextInt(4));
			else if (what < 7)
				step.put("op", "done").put("c", 1 + random.nextInt(arrived));
			else if (what == 7)
				step.put("op", random.nextBoolean() ? "done_all_killed" : "paused_all");
			else if (what == 8)
				step.put("op", "limit").put("n", random.nextInt(5) - 1);
			else
				step.put("op", random.nextBoolean() ? "promote" : "demote").put("c", 1 + random.nextInt(arrived));
		}
		return workload;
	}
}

package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.util.Clock;

/**
 * Hadoop's preemption policy, which also notes what each of its selectors computed. The class is in
 * Hadoop's package, because it reads what only that package sees.
 */
public final class DrivenPolicy extends ProportionalCapacityPreemptionPolicy
{
	private static final ObjectMapper JSON = new ObjectMapper();

	private final Function<ContainerId, String> names;
	private ArrayNode notes;

	public DrivenPolicy(RMContext context, CapacityScheduler scheduler, Clock clock, Function<ContainerId, String> names) throws ReflectiveOperationException
	{
		super(context, scheduler, clock);
		this.names = names;
		watchSelectors();
	}

	@SuppressWarnings("unchecked")
	private void watchSelectors() throws ReflectiveOperationException
	{
		Field field = ProportionalCapacityPreemptionPolicy.class.getDeclaredField("candidatesSelectionPolicies");
		List<PreemptionCandidatesSelector> watched = new ArrayList<>();

		field.setAccessible(true);
		for (PreemptionCandidatesSelector selector : (List<PreemptionCandidatesSelector>) field.get(this))
			watched.add(new Watched(selector));
		field.set(this, watched);
	}

	private final class Watched extends PreemptionCandidatesSelector
	{
		private final PreemptionCandidatesSelector selector;

		Watched(PreemptionCandidatesSelector selector)
		{
			super(DrivenPolicy.this);
			this.selector = selector;
		}

		@Override
		public long getMaximumKillWaitTimeMs()
		{
			return selector.getMaximumKillWaitTimeMs();
		}

		@Override
		public Map<ApplicationAttemptId, Set<RMContainer>> selectCandidates(Map<ApplicationAttemptId, Set<RMContainer>> before, Resource cluster, Resource allowed)
		{
			ObjectNode note = notes.addObject().put("selector", name(selector));

			note.set("allowed_before", amounts(allowed));
			Map<ApplicationAttemptId, Set<RMContainer>> chosen = selector.selectCandidates(before, cluster, allowed);

			note.set("allowed_after", amounts(allowed));
			if (selector instanceof IntraQueueCandidatesSelector)
				note.set("apps", applications());
			else if (!(selector instanceof QueuePriorityContainerCandidateSelector))
				note.set("queues", ideals());
			Set<ContainerId> sorted = new TreeSet<>();

			for (Set<RMContainer> containers : chosen.values())
				for (RMContainer container : containers)
					sorted.add(container.getContainerId());
			ArrayNode list = note.putArray("chosen");
			sorted.forEach(container -> list.add(names.apply(container)));
			return chosen;
		}
	}

	private static String name(PreemptionCandidatesSelector selector)
	{
		if (selector instanceof QueuePriorityContainerCandidateSelector)
			return "queue_priority";
		if (selector instanceof ReservedContainerCandidatesSelector)
			return "reserved";
		if (selector instanceof IntraQueueCandidatesSelector)
			return "intra_queue";
		return ((FifoCandidatesSelector) selector).getAllowQueuesBalanceAfterAllQueuesSatisfied() ? "fifo_balance" : "fifo";
	}

	/** Runs one round. Puts "queues" and "selectors" into the record of the round. */
	public void editSchedule(ObjectNode round)
	{
		notes = JSON.createArrayNode();
		editSchedule();
		round.set("queues", queues());
		round.set("selectors", notes);
	}

	/**
	 * Puts "marked": the containers that the policy has marked for preemption, and the time of each
	 * mark. Puts nothing if no container is marked.
	 */
	public void putMarked(ObjectNode round)
	{
		Map<ContainerId, Long> marked = new TreeMap<>();

		getToPreemptContainers().forEach((container, since) -> marked.put(container.getContainerId(), since));
		marked.forEach((container, since) -> round.with("marked").put(names.apply(container), since));
	}

	private interface Row
	{
		ObjectNode of(TempQueuePerPartition queue);
	}

	private ObjectNode rows(Row row)
	{
		ObjectNode rows = JSON.createObjectNode();

		for (Map.Entry<String, Map<String, TempQueuePerPartition>> queue : new TreeMap<>(getQueuePartitions()).entrySet())
			for (Map.Entry<String, TempQueuePerPartition> partition : new TreeMap<>(queue.getValue()).entrySet())
			{
				ObjectNode made = row.of(partition.getValue());

				if (made.size() > 0)
					rows.with(queue.getKey()).set(partition.getKey(), made);
			}
		return rows;
	}

	private ObjectNode queues()
	{
		return rows(queue ->
		{
			ObjectNode row = JSON.createObjectNode();

			row.set("guaranteed", amounts(queue.getGuaranteed()));
			row.set("max", amounts(queue.getMax()));
			put(row, "used", queue.getUsed());
			put(row, "reserved", queue.getReserved());
			put(row, "pending", queue.pending);
			if (!queue.pendingDeductReserved.equals(queue.pending))
				row.set("pending_dr", amounts(queue.pendingDeductReserved));
			if (queue.relativePriority != 0)
				row.put("priority", queue.relativePriority);
			if (queue.preemptionDisabled)
				row.put("disabled", true);
			if (queue.leafQueue != null && queue.leafQueue.getIntraQueuePreemptionDisabled())
				row.put("intra_disabled", true);
			return row;
		});
	}

	private ObjectNode ideals()
	{
		return rows(queue ->
		{
			ObjectNode row = JSON.createObjectNode();

			put(row, "ideal", queue.idealAssigned);
			put(row, "to_be_preempted", queue.toBePreempted);
			put(row, "obtain", queue.getActuallyToBePreempted());
			put(row, "untouchable", queue.untouchableExtra);
			return row;
		});
	}

	private ArrayNode applications()
	{
		Map<Integer, Map<String, ObjectNode>> sorted = new TreeMap<>();
		ArrayNode rows = JSON.createArrayNode();

		for (Map<String, TempQueuePerPartition> partitions : getQueuePartitions().values())
			for (TempQueuePerPartition queue : partitions.values())
				if (queue.getApps() != null)
					for (TempAppPerPartition application : queue.getApps())
						sorted.computeIfAbsent(application.getApplicationId().getId(), key -> new TreeMap<>()).put(queue.partition, application(application, queue.partition));
		sorted.values().forEach(partitions -> partitions.values().forEach(rows::add));
		return rows;
	}

	private static ObjectNode application(TempAppPerPartition application, String partition)
	{
		ObjectNode row = JSON.createObjectNode().put("app", application.getApplicationId().getId()).put("partition", partition);
		TempUserPerPartition user = application.getTempUserPerPartition();

		put(row, "ideal", application.idealAssigned);
		put(row, "wants", application.getToBePreemptFromOther());
		put(row, "gives", application.toBePreempted);
		put(row, "taken", application.getActuallyToBePreempted());
		put(row, "selected", application.selected);
		if (user != null && user.getUserLimit() != null)
			row.set("user_limit", amounts(user.getUserLimit()));
		return row;
	}

	private static void put(ObjectNode row, String name, Resource resource)
	{
		if (resource == null)
			return;
		for (ResourceInformation information : resource.getResources())
			if (information.getValue() != 0)
			{
				row.set(name, amounts(resource));
				return;
			}
	}

	private static ArrayNode amounts(Resource resource)
	{
		ArrayNode amounts = JSON.createArrayNode();

		for (ResourceInformation information : resource.getResources())
			amounts.add(information.getValue());
		return amounts;
	}
}

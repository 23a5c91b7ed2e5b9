package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;

/** The area "queue-figures": what queues may use. Its records are in test/queues/figures.jsonl. */
public final class QueueFigures implements Area
{
	private static final String PREFIX = "yarn.scheduler.capacity.";

	/** Hadoop's names for settings of yquota. */
	private static final Map<String, String> SETTINGS = new HashMap<>();

	static
	{
		SETTINGS.put("legacy_queue_mode_enabled", PREFIX + "legacy-queue-mode.enabled");
		SETTINGS.put("resource_calculator", PREFIX + "resource-calculator");
		SETTINGS.put("global_queue_max_application", PREFIX + "global-queue-max-application");
		SETTINGS.put("maximum_applications", PREFIX + "maximum-applications");
		SETTINGS.put("maximum_am_resource_percent", PREFIX + "maximum-am-resource-percent");
		SETTINGS.put("minimum_allocation_mb", "yarn.scheduler.minimum-allocation-mb");
	}

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new QueueFigures(), arguments);
	}

	@Override
	public String[] families()
	{
		return new String[] {"percent", "weight", "absolute"};
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = workload.deepCopy();
		Set<String> labels = new LinkedHashSet<>();
		ArrayNode declared = Oracle.JSON.createArrayNode();

		record.remove("figures");
		record.remove("refused");
		for (JsonNode row : workload.path("labels"))
			if (labels.add(row.get("label").asText()))
				declared.addObject().put("name", row.get("label").asText()).put("exclusive", true);
		try (Cluster cluster = new Cluster(properties(workload), declared))
		{
			for (JsonNode node : workload.get("nodes"))
				cluster.addNode(node.get("name").asText(), "/rack", node.get("label").asText(), amounts(node.get("total").asText()));
			for (CSQueue queue : cluster.queues().values())
				for (String label : cluster.labels)
					if (label.isEmpty() || queue.getQueueCapacities().getExistingNodeLabels().contains(label))
						record.withArray("figures").add(figures(queue, label));
		}
		catch (Exception e)
		{
			record.remove("figures");
			record.put("refused", Cluster.reason(e));
		}
		return record;
	}

	private static ObjectNode figures(CSQueue queue, String label)
	{
		ObjectNode figures = Oracle.JSON.createObjectNode();

		figures.put("queue", queue.getQueuePath()).put("label", label)
			.put("absolute_capacity", Float.toString(queue.getQueueCapacities().getAbsoluteCapacity(label)))
			.put("absolute_maximum_capacity", Float.toString(queue.getQueueCapacities().getAbsoluteMaximumCapacity(label)))
			.put("effective_capacity", amounts(queue.getQueueResourceQuotas().getEffectiveMinResource(label)))
			.put("effective_maximum_capacity", amounts(queue.getQueueResourceQuotas().getEffectiveMaxResource(label)));
		if (queue instanceof AbstractLeafQueue)
		{
			AbstractLeafQueue leaf = (AbstractLeafQueue) queue;

			figures.put("maximum_applications", Integer.toString(leaf.getMaxApplications()))
				.put("maximum_applications_per_user", Integer.toString(leaf.getMaxApplicationsPerUser()))
				.put("am_limit", amounts(leaf.calculateAndGetAMResourceLimitPerPartition(label)));
		}
		return figures;
	}

	private static String amounts(Resource resource)
	{
		return resource.getMemorySize() + "," + resource.getVirtualCores();
	}

	private static Resource amounts(String text)
	{
		Matcher amounts = Pattern.compile("\\[memory-mb=(\\d+),vcores=(\\d+)]").matcher(text);

		if (!amounts.matches())
			throw new IllegalArgumentException(text);
		return Resource.newInstance(Long.parseLong(amounts.group(1)), Integer.parseInt(amounts.group(2)));
	}

	/** Returns the rows as Hadoop's properties. */
	private static ObjectNode properties(JsonNode workload)
	{
		ObjectNode properties = Oracle.JSON.createObjectNode();
		Map<String, String> children = new LinkedHashMap<>();
		Map<String, String> labels = new LinkedHashMap<>();

		workload.get("settings").fields().forEachRemaining(setting -> properties.set(SETTINGS.get(setting.getKey()), setting.getValue()));
		for (JsonNode row : workload.get("queues"))
		{
			String path = row.get("path").asText();
			int dot = path.lastIndexOf('.');

			if (dot > 0)
				children.merge(path.substring(0, dot), path.substring(dot + 1), (before, name) -> before + "," + name);
			for (String column : new String[] {"capacity", "maximum_capacity", "user_limit_factor", "minimum_user_limit_percent"})
				if (row.has(column))
					properties.put(PREFIX + path + "." + column.replace('_', '-'), row.get(column).asText());
		}
		for (JsonNode row : workload.path("labels"))
		{
			String label = row.get("label").asText();

			labels.merge(row.get("queue").asText(), label, (before, name) -> before + "," + name);
			for (String column : new String[] {"capacity", "maximum_capacity"})
				if (row.has(column))
					properties.put(PREFIX + row.get("queue").asText() + ".accessible-node-labels." + label + "." + column.replace('_', '-'), row.get(column).asText());
		}
		children.forEach((parent, names) -> properties.put(PREFIX + parent + ".queues", names));
		labels.forEach((queue, names) -> properties.put(PREFIX + queue + ".accessible-node-labels", names));
		return properties;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		Random random = new Random(seed * 31 + family.hashCode());
		ObjectNode workload = Oracle.JSON.createObjectNode();
		ArrayNode queues = workload.putArray("queues");
		int nodes = 1 + random.nextInt(4);

		queues.addObject().put("path", "root").put("position", "0");
		addChildren(queues, "root", family, 1, random);
		for (int i = 0; i < nodes; i++)
			workload.withArray("nodes").addObject().put("name", "n" + i).put("label", "")
				.put("total", "[memory-mb=" + 1000 * (4 + random.nextInt(100)) + ",vcores=" + (3 + random.nextInt(40)) + "]");
		workload.putObject("settings");
		if (random.nextBoolean())
			workload.with("settings").put("resource_calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
		if (random.nextBoolean())
			workload.with("settings").put("maximum_applications", Integer.toString(10 + random.nextInt(5000)));
		return workload;
	}

	private static void addChildren(ArrayNode queues, String parent, String family, int depth, Random random)
	{
		int count = 1 + random.nextInt(4);
		int left = 1000;

		for (int i = 0; i < count; i++)
		{
			ObjectNode queue = queues.addObject();
			String path = parent + ".q" + i;
			int share = i == count - 1 ? left : 1 + random.nextInt(left - (count - i) + 1);

			left -= share;
			queue.put("path", path).put("position", Integer.toString(queues.size() - 1)).put("capacity",
				family.equals("percent") ? Float.toString(share / 10f) :
				family.equals("weight") ? 1 + random.nextInt(9) + "w" :
				"[memory=" + (1024 << random.nextInt(3)) + ",vcores=" + (1 + random.nextInt(6)) + "]");
			if (random.nextInt(4) == 0)
				queue.put("user_limit_factor", 0.5f + random.nextInt(4));
			if (random.nextInt(4) == 0)
				queue.put("minimum_user_limit_percent", 10f * (1 + random.nextInt(9)));
			if (depth < 3 && random.nextInt(3) == 0)
				addChildren(queues, path, family, depth + 1, random);
		}
	}
}

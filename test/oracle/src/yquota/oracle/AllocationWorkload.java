package yquota.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A random cluster and what happens to it. The workload does not say which containers end: this is
 * chosen during the play, when it is known which containers run.
 */
final class AllocationWorkload
{
	/**
	 * Families of workloads. In large-fair, one leaf in fair order with size-based weight has
	 * hundreds of applications. In lazy, containers become killable.
	 */
	static final String[] FAMILIES = {"plain", "labels", "reserve", "fair", "users", "masters", "large-fair", "lazy"};

	private static final String QUEUES = "yarn.scheduler.capacity.";
	private static final String LABEL = "x";
	private static final String[] USERS = {"alice", "bob", "carol", "dave", "erin"};

	private final String family;
	private final Random random;
	private final ObjectNode workload = Oracle.JSON.createObjectNode();
	private final ObjectNode properties;
	private final ArrayNode steps;
	private final List<String> leaves = new ArrayList<>();
	private final List<String> nodes = new ArrayList<>();
	private final List<Integer> applications = new ArrayList<>();
	/**
	 * The size that an application asks for at a priority. The size never changes. If a reservation
	 * and its request had different sizes, yquota would on purpose decide otherwise than Hadoop
	 * (docs/internals.md).
	 */
	private final Map<String, int[]> sizes = new HashMap<>();
	private final boolean large;
	private int submitted;

	AllocationWorkload(String family, long seed)
	{
		this.family = family;
		random = new Random(seed * 31 + family.hashCode());
		large = family.startsWith("large");
		workload.put("name", family + "-" + seed);
		properties = workload.putObject("properties");
		workload.putArray("labels");
		workload.putArray("nodes");
		steps = workload.putArray("steps");
	}

	ObjectNode make()
	{
		configure();
		addNodes();
		int length = large ? 600 : 60 + random.nextInt(60);

		for (int i = 0; i < length; i++)
			step();
		steps.addObject().put("do", "figures");
		return workload;
	}

	private boolean chance(double probability)
	{
		return random.nextDouble() < probability;
	}

	@SafeVarargs
	private final <T> T one(T... of)
	{
		return of[random.nextInt(of.length)];
	}

	private void set(String property, Object value)
	{
		properties.put(QUEUES + property, String.valueOf(value));
	}

	private void configure()
	{
		if (family.equals("labels"))
			workload.withArray("labels").addObject().put("name", LABEL).put("exclusive", random.nextBoolean());
		properties.put("yarn.scheduler.minimum-allocation-mb", one("256", "512", "1024"));
		properties.put("yarn.scheduler.maximum-allocation-mb", "16384");
		properties.put("yarn.scheduler.maximum-allocation-vcores", "8");
		properties.put("yarn.cluster.max-application-priority", "10");
		set("maximum-am-resource-percent", family.equals("masters") ? one("0.1", "0.2", "0.3") : "1");
		set("node-locality-delay", one("0", "2", "40"));
		set("per-node-heartbeat.maximum-offswitch-assignments", one("1", "2", "10"));
		if (chance(0.5))
			set("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
		if (family.equals("lazy"))
			set("lazy-preemption-enabled", "true");
		if (family.equals("large-fair"))
			addLeaves("root", new String[] {"a"}, false);
		else
			addLeaves("root", one(new String[] {"a", "b"}, new String[] {"a", "b", "c"}), true);
	}

	private void addLeaves(String parent, String[] names, boolean deeper)
	{
		int left = 100;

		set(parent + ".queues", String.join(",", names));
		for (int i = 0; i < names.length; i++)
		{
			String queue = parent + "." + names[i];
			int capacity = i == names.length - 1 ? left : 10 + random.nextInt(left - 10 * (names.length - i) + 1);

			left -= capacity;
			set(queue + ".capacity", capacity);
			if (family.equals("labels"))
			{
				set(queue + ".accessible-node-labels", LABEL);
				set(queue + ".accessible-node-labels." + LABEL + ".capacity", capacity);
			}
			if (family.equals("lazy") && chance(0.4))
				set(queue + ".maximum-capacity", Math.min(100, capacity + random.nextInt(60)));
			if (deeper && chance(0.4))
				addLeaves(queue, new String[] {names[i] + "1", names[i] + "2"}, false);
			else
				configureLeaf(queue);
		}
	}

	private void configureLeaf(String queue)
	{
		boolean users = family.equals("users");

		leaves.add(queue);
		if (family.contains("fair") || chance(0.2))
		{
			set(queue + ".ordering-policy", "fair");
			if (large || chance(0.5))
				set(queue + ".ordering-policy.fair.enable-size-based-weight", "true");
		}
		if (family.equals("lazy") || large || chance(users ? 0.9 : 0.3))
			set(queue + ".user-limit-factor", large ? "100" : one("0.5", "1", "2", "10"));
		if (large || chance(users ? 0.9 : 0.3))
			set(queue + ".minimum-user-limit-percent", one("10", "25", "50"));
	}

	private void addNodes()
	{
		int count = large ? 40 : 3 + random.nextInt(6);

		for (int i = 1; i <= count; i++)
		{
			ObjectNode node = workload.withArray("nodes").addObject();

			nodes.add("n" + i);
			node.put("name", "n" + i).put("rack", "/rack" + i % 3).put("memory", one(4096, 6144, 8192, 12288)).put("vcores", one(4, 8, 16));
			if (family.equals("labels") && chance(0.5))
				node.put("label", LABEL);
		}
	}

	private void step()
	{
		double what = random.nextDouble();

		if (family.equals("lazy") && chance(0.15))
			steps.addObject().put("do", "killable").put("salt", random.nextInt(1 << 30)).put("count", 1 + random.nextInt(4));
		else if (submitted < 2 || what < (large ? 0.35 : 0.15))
			submit();
		else if (what < (large ? 0.5 : 0.4))
			ask(one(applications.toArray(new Integer[0])));
		else if (what < 0.8)
			heartbeat();
		else if (what < 0.95 || applications.size() < 3)
			steps.addObject().put("do", "end").put("salt", random.nextInt(1 << 30)).put("count", 1 + random.nextInt(large ? 10 : 4));
		else
			steps.addObject().put("do", "finish").put("app", applications.remove(random.nextInt(applications.size())));
	}

	/**
	 * Submits an application that asks at once. Such an application is unmanaged, except in the
	 * family masters, because a master's container comes only with a heartbeat.
	 */
	private void submit()
	{
		boolean unmanaged = !family.equals("masters");

		submitted++;
		ObjectNode step = steps.addObject().put("do", "submit").put("app", submitted).put("user", one(USERS)).put("queue", one(leaves.toArray(new String[0])))
			.put("unmanaged", unmanaged).put("priority", chance(0.2) ? 1 + random.nextInt(5) : 0);
		if (!unmanaged)
			step.putObject("am").put("memory", one(512, 1024, 2048)).put("vcores", 1);
		applications.add(submitted);
		ask(submitted);
	}

	private void ask(int application)
	{
		ArrayNode asks = steps.addObject().put("do", "asks").put("app", application).putArray("asks");
		int priority = 1 + random.nextInt(3);
		int[] size = sizes.computeIfAbsent(application + "/" + priority, key -> size());
		int count = 1 + random.nextInt(large ? 6 : 8);
		String label = family.equals("labels") && chance(0.5) ? LABEL : "";

		if (label.isEmpty() && chance(0.3))
		{
			int node = 1 + random.nextInt(nodes.size());

			ask(asks, priority, size, "n" + node, count);
			ask(asks, priority, size, "/rack" + node % 3, count);
		}
		ask(asks, priority, size, "*", count).put("label", label);
	}

	private int[] size()
	{
		boolean big = chance(family.equals("reserve") || large ? 0.6 : 0.15);

		return new int[] {big ? one(3072, 4096, 6144) : one(256, 512, 1024, 1500, 2048), one(1, 1, 1, 2, 4)};
	}

	private static ObjectNode ask(ArrayNode asks, int priority, int[] size, String name, int count)
	{
		return asks.addObject().put("priority", priority).put("id", 0).put("memory", size[0]).put("vcores", size[1]).put("name", name).put("count", count);
	}

	private void heartbeat()
	{
		ArrayNode heard;

		if (!large)
		{
			steps.addObject().put("do", "heartbeat").put("node", one(nodes.toArray(new String[0])));
			return;
		}
		heard = steps.addObject().put("do", "heartbeats").putArray("nodes");
		for (int i = 0; i < 10; i++)
			heard.add(one(nodes.toArray(new String[0])));
	}
}

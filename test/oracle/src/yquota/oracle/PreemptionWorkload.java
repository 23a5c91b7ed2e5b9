package yquota.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A random cluster, and rounds of preemption. Some queues, users or applications have taken
 * resources that others then request.
 */
final class PreemptionWorkload
{
	/**
	 * Families of workloads, named by what they test most. A number after the name makes the
	 * conditions narrower.
	 */
	static final String[] FAMILIES = {"flat", "hier", "drf", "labels", "qprio", "balance", "intra_prio", "intra_user", "intra_fair", "intra_fair2",
		"intra_labels", "intra_types3", "reserved", "underutil", "underutil2", "timing", "flags", "absolute", "weights", "types3", "lazy", "large"};

	private static final String QUEUES = "yarn.scheduler.capacity.";
	private static final String PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption.";
	private static final String WITHIN = PREEMPTION + "intra-queue-preemption.";
	private static final String LABEL = "x";

	private final String family;
	private final Random random;
	private final ObjectNode workload = Oracle.JSON.createObjectNode();
	private final ObjectNode conf;
	private final ArrayNode nodes;
	private final List<String> leaves = new ArrayList<>();
	private final List<String> queues = new ArrayList<>();
	private final Map<String, Integer> shares = new HashMap<>();
	private final List<String> parents = new ArrayList<>();
	private final List<Integer> takers = new ArrayList<>();
	private final List<Integer> askers = new ArrayList<>();
	private ArrayNode operations;
	private final boolean withGpu;
	private int applications;

	PreemptionWorkload(String family, long seed)
	{
		this.family = family;
		random = new Random(seed * 31 + family.hashCode());
		withGpu = family.endsWith("types3");
		workload.put("id", family + "-" + seed).put("family", family);
		conf = workload.putObject("conf");
		nodes = workload.putArray("nodes");
		operations = workload.putArray("build");
	}

	ObjectNode make()
	{
		configure();
		addQueues("root", "abcdefgh", depth());
		addNodes();
		configureFamily();
		if (family.startsWith("intra"))
			configureWithinQueues();
		load();
		addRounds();
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

	private int between(int from, int to)
	{
		return from + random.nextInt(to - from + 1);
	}

	private void set(String property, Object value)
	{
		conf.put(property, String.valueOf(value));
	}

	private boolean is(String... families)
	{
		return List.of(families).contains(family);
	}

	private void configure()
	{
		if (withGpu || is("drf", "absolute") || !is("flat") && chance(0.4))
			set(QUEUES + "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
		if (withGpu)
		{
			set("yarn.resource-types", "gpu");
			set("yarn.resource-types.gpu.maximum-allocation", 16);
		}
		set("yarn.scheduler.minimum-allocation-mb", isReserving() || family.startsWith("intra") ? 256 : one(256, 512, 1024));
		set("yarn.scheduler.maximum-allocation-mb", 262144);
		set("yarn.scheduler.maximum-allocation-vcores", 256);
		set(QUEUES + "maximum-am-resource-percent", one("1", "1", "0.5"));
		set(QUEUES + "node-locality-delay", -1);
		set(PREEMPTION + "total_preemption_per_round", one("1.0", "1.0", "0.5", "0.2"));
		set(PREEMPTION + "natural_termination_factor", one("1.0", "1.0", "0.5", "0.2"));
		if (chance(0.4))
			set(PREEMPTION + "max_ignored_over_capacity", one("0", "0.02", "0.1", "0.5"));
		if (chance(0.3))
			set(PREEMPTION + "max_wait_before_kill", one(0, 1000, 5000, 15000));
	}

	private boolean isReserving()
	{
		return is("reserved", "underutil", "underutil2");
	}

	private int depth()
	{
		return is("hier", "large", "flags") ? 3 : is("drf", "weights", "types3", "qprio", "timing", "lazy", "labels") ? between(1, 2) : 1;
	}

	/**
	 * Adds queues. The names of siblings have the same length, so that the names of a variant sort
	 * in the same order.
	 */
	private void addQueues(String parent, String names, int depth)
	{
		int count = family.startsWith("intra") ? between(1, 2) : is("large") ? 3 : between(2, 4);
		List<String> children = new ArrayList<>();
		int left = 100;

		parents.add(parent);
		for (int i = 0; i < count; i++)
			children.add(parent.equals("root") ? names.substring(i, i + 1) : parent.substring(parent.lastIndexOf('.') + 1) + (i + 1));
		set(QUEUES + parent + ".queues", String.join(",", children));
		for (int i = 0; i < count; i++)
		{
			String queue = parent + "." + children.get(i);
			int share = i == count - 1 ? left : between(5, left - 5 * (count - 1 - i));

			left -= share;
			queues.add(queue);
			shares.put(queue, share);
			set(QUEUES + queue + ".capacity", is("weights") ? one("1w", "2w", "3w", "5w") : Integer.toString(share));
			if (!is("weights", "absolute") && chance(0.2))
				set(QUEUES + queue + ".maximum-capacity", Math.min(100, share + one(10, 20, 40, 60)));
			if (depth > 1 && chance(0.7))
				addQueues(queue, names, depth - 1);
			else
				leaves.add(queue);
		}
	}

	private void addNodes()
	{
		boolean odd = isReserving();
		int memory = 1024 * one(8, 16, 20) + (odd ? one(1024, 1536) : 0);

		for (int i = is("large") ? 14 : between(2, 6); i > 0; i--)
			addNode(memory, odd || family.startsWith("intra") ? 32 : one(memory / 2048, memory / 1024), "");
		if (family.endsWith("labels"))
		{
			workload.putArray("labels").addObject().put("name", LABEL).put("exclusive", chance(0.5));
			for (int i = between(1, 3); i > 0; i--)
				addNode(memory, 32, LABEL);
		}
	}

	private void addNode(int memory, int cores, String label)
	{
		ObjectNode node = nodes.addObject().put("id", "n" + nodes.size());
		ArrayNode amounts = node.putArray("res").add(memory).add(cores);

		if (withGpu)
			amounts.add(one(2, 4, 8));
		if (!label.isEmpty())
			node.put("label", label);
	}

	private void configureFamily()
	{
		for (String leaf : leaves)
		{
			set(QUEUES + leaf + ".user-limit-factor", one(100, 100, 10, 3));
			if (chance(0.3))
				set(QUEUES + leaf + ".minimum-user-limit-percent", one(20, 25, 50, 100));
			if (family.startsWith("intra_fair"))
				set(QUEUES + leaf + ".ordering-policy", "fair");
		}
		if (family.endsWith("labels"))
			configureLabel();
		switch (family)
		{
			case "qprio":
				orderByPriority();
				break;
			case "balance":
				set(PREEMPTION + "preemption-to-balance-queue-after-satisfied.enabled", true);
				set(PREEMPTION + "preemption-to-balance-queue-after-satisfied.max-wait-before-kill", one(5000, 20000, 40000));
				break;
			case "drf":
				if (chance(0.3))
					set(PREEMPTION + "conservative-drf", true);
				break;
			case "reserved":
				set(PREEMPTION + "select_based_on_reserved_containers", chance(0.7));
				set(PREEMPTION + "additional_res_balance_based_on_reserved_containers", chance(0.6));
				break;
			case "underutil":
			case "underutil2":
				orderByPriority();
				set(QUEUES + "ordering-policy.priority-utilization.underutilized-preemption.enabled", true);
				set(QUEUES + "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms", one(0, 1000, 60000));
				set(QUEUES + "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation", chance(0.5));
				break;
			case "timing":
				set(PREEMPTION + "max_wait_before_kill", one(0, 3000, 5000, 10000));
				if (chance(0.15))
					set(PREEMPTION + "observe_only", true);
				break;
			case "flags":
				for (String queue : queues)
					if (chance(0.4))
						set(QUEUES + queue + ".disable_preemption", chance(0.7));
				break;
			case "absolute":
				makeAbsolute();
				break;
			case "lazy":
				set(QUEUES + "lazy-preemption-enabled", true);
				set(PREEMPTION + "max_wait_before_kill", one(1000, 5000));
				break;
			default:
		}
	}

	private void orderByPriority()
	{
		for (String parent : parents)
			set(QUEUES + parent + ".ordering-policy", "priority-utilization");
		for (String queue : queues)
			set(QUEUES + queue + ".priority", between(0, 3));
	}

	private void configureLabel()
	{
		set(QUEUES + "root.accessible-node-labels", "*");
		set(QUEUES + "root.accessible-node-labels." + LABEL + ".capacity", 100);
		for (String queue : queues)
		{
			set(QUEUES + queue + ".accessible-node-labels", LABEL);
			set(QUEUES + queue + ".accessible-node-labels." + LABEL + ".capacity", shares.get(queue));
		}
	}

	private void makeAbsolute()
	{
		long memory = total(0);
		long cores = total(1);

		for (String queue : queues)
		{
			set(QUEUES + queue + ".capacity", "[memory=" + memory * shares.get(queue) / 100 + ",vcores=" + Math.max(1, cores * shares.get(queue) / 100) + "]");
			if (chance(0.4))
				set(QUEUES + queue + ".maximum-capacity", "[memory=" + memory * Math.min(100, shares.get(queue) + 40) / 100 + ",vcores=" + cores + "]");
		}
	}

	private long total(int type)
	{
		long total = 0;

		for (int i = 0; i < nodes.size(); i++)
			total += nodes.get(i).get("res").get(type).asLong();
		return total;
	}

	private void configureWithinQueues()
	{
		set(WITHIN + "enabled", true);
		set(WITHIN + "preemption-order-policy", is("intra_prio") ? "priority_first" : is("intra_labels", "intra_types3") ? one("priority_first", "userlimit_first") : "userlimit_first");
		set(WITHIN + "max-allowable-limit", one("0.2", "0.5", "1.0", "1.0"));
		set(WITHIN + "minimum-threshold", one("0.0", "0.1", "0.5"));
		if (chance(0.25))
			set(WITHIN + "conservative-drf", false);
		for (String leaf : leaves)
		{
			set(QUEUES + leaf + ".minimum-user-limit-percent", one(20, 25, 33, 50));
			if (is("intra_fair2"))
				set(QUEUES + leaf + ".user-limit-factor", 100);
			else if (chance(0.15))
				set(QUEUES + leaf + ".intra-queue-preemption.disable_preemption", true);
		}
	}

	/**
	 * Loads the cluster: some applications take nearly all of it, then others ask. The masters of
	 * the others may run from the beginning.
	 */
	private void load()
	{
		boolean within = family.startsWith("intra");
		List<String> shuffled = new ArrayList<>(leaves);
		int first = within ? leaves.size() : Math.max(1, leaves.size() / 2);
		boolean early = isReserving() || is("lazy") || chance(0.65);

		Collections.shuffle(shuffled, random);
		for (String queue : shuffled.subList(0, first))
			for (int i = between(1, 3); i > 0; i--)
				takers.add(submit(queue, "u" + between(1, within ? 2 : 3), within ? between(0, 1) : 0));
		if (early)
			submitAskers(within ? shuffled : shuffled.subList(Math.min(first, shuffled.size()), shuffled.size()), within);
		fill(400);
		for (int taker : takers)
			for (int i = between(1, 2); i > 0; i--)
				ask(taker, 0.2 + random.nextDouble() * 0.7, false);
		fill(400);
		if (!early)
		{
			submitAskers(within ? shuffled : shuffled.subList(Math.min(first, shuffled.size()), shuffled.size()), within);
			fill(400);
		}
		for (int asker : askers)
			for (int i = between(1, 2); i > 0; i--)
				ask(asker, 0.05 + random.nextDouble() * 0.4, isReserving());
		fill(one(1, 3, 400));
	}

	private void submitAskers(List<String> of, boolean within)
	{
		for (String queue : of)
			for (int i = between(1, 2); i > 0; i--)
				askers.add(submit(queue, "u" + (within ? between(is("intra_prio") ? 1 : 3, 4) : between(1, 3)), within || is("flags", "large", "types3") ? between(0, 3) : 0));
	}

	private int submit(String queue, String user, int priority)
	{
		ObjectNode operation = operations.addObject().put("op", "submit").put("app", ++applications).put("queue", queue).put("user", user).put("priority", priority);
		ArrayNode master = operation.putArray("am").add(one(512, 1024, 2048)).add(1);

		if (withGpu)
			master.add(0);
		return applications;
	}

	/** Asks for containers that are together as large as this share of the cluster. */
	private void ask(int application, double share, boolean large)
	{
		int memory = large ? one(4096, 6144, 7168) : isReserving() ? one(2048, 2048, 4096) : family.startsWith("intra") ? one(256, 512, 1024) : one(512, 1024, 2048, 3072);
		ObjectNode operation = operations.addObject().put("op", "ask").put("app", application);
		String label = family.endsWith("labels") && chance(0.5) ? LABEL : "";
		ArrayNode amounts;

		// Each priority has only one ask, with one label.
		operation.put("prio", one(1, 2, 5) * 10 + label.length());
		amounts = operation.putArray("res").add(memory).add(one(1, 1, 1, 2));
		if (withGpu)
			amounts.add(one(0, 0, 1));
		operation.put("n", Math.max(1, (int) (total(0) * share / memory)));
		if (!label.isEmpty())
			operation.put("label", label);
	}

	private void fill(int passes)
	{
		operations.addObject().put("op", "fill").put("passes", passes);
	}

	private void addRounds()
	{
		int count = is("timing") ? between(4, 9) : is("lazy") ? between(4, 6) : between(1, 4);
		int at = 0;

		for (int i = 0; i < count; i++)
		{
			ObjectNode round = workload.withArray("rounds").addObject().put("at", at);

			operations = Oracle.JSON.createArrayNode();
			if (i > 0)
				goOn();
			if (operations.size() > 0)
				round.set("do", operations);
			at += is("lazy") ? 6000 : isReserving() ? one(3000, 20000, 70000) : one(1000, 3000, 5000, 10001, 15000, 15001, 30001);
		}
	}

	private void goOn()
	{
		if (is("timing") && chance(0.35))
			operations.addObject().put("op", "finish").put("app", takers.get(random.nextInt(takers.size()))).put("n", between(1, 5)).put("which", one("newest", "oldest"));
		if (is("timing") && !askers.isEmpty() && chance(0.25))
			ask(askers.get(random.nextInt(askers.size())), 0.1, false);
		if (chance(0.6))
			fill(400);
	}
}

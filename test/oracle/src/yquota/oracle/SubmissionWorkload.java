package yquota.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A random configuration, and random operations of users and administrators. */
final class SubmissionWorkload
{
	/**
	 * Families of workloads, named by the feature that decides. In auto2, queues with weights are
	 * created automatically below their parents. In auto1, they are created below managed parents.
	 */
	static final String[] FAMILIES = {"limits", "parallel", "am", "labels", "priority", "lifetime", "place", "states", "auto2", "auto1"};

	private static final String QUEUES = "yarn.scheduler.capacity.";
	private static final String[] USERS = {"alice", "bob", "carol", "dave", "erin"};
	private static final String[] LABELS = {"x", "y"};

	private final String family;
	private final Random random;
	private final ObjectNode workload = Oracle.JSON.createObjectNode();
	private final ArrayNode steps;
	private final List<String> leaves = new ArrayList<>();
	private final List<String> parents = new ArrayList<>();
	private final List<Integer> applications = new ArrayList<>();
	/** The properties that are being set: all of them at first, then those that a refresh changes. */
	private ObjectNode properties;
	private int submitted;

	SubmissionWorkload(String family, long seed)
	{
		this.family = family;
		random = new Random(seed * 31 + family.hashCode());
		workload.put("name", family + "-" + seed);
		properties = workload.putObject("properties");
		workload.putArray("labels");
		workload.putArray("nodes");
		steps = workload.putArray("steps");
	}

	ObjectNode make()
	{
		int length = 10 + random.nextInt(15);

		if (family.equals("labels"))
			for (String label : LABELS)
				workload.withArray("labels").addObject().put("name", label).put("exclusive", chance(0.5));
		properties.put("yarn.cluster.max-application-priority", one("10", "10", "0"));
		properties.put("yarn.scheduler.minimum-allocation-mb", one("256", "512", "1024"));
		set("maximum-am-resource-percent", one("0.1", "0.2", "0.5"));
		if (chance(0.4))
			set("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
		addQueues("root", new String[] {"default", one("a", "b"), one("c", "d")}, 1);
		configure();
		addNodes();
		for (int i = 0; i < length; i++)
			step();
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

	private <T> T one(List<T> of)
	{
		return of.get(random.nextInt(of.size()));
	}

	private void set(String property, String value)
	{
		properties.put(QUEUES + property, value);
	}

	private boolean is(String... families)
	{
		return List.of(families).contains(family);
	}

	private void addQueues(String parent, String[] names, int depth)
	{
		int left = 100;

		set(parent + ".queues", String.join(",", names));
		for (int i = 0; i < names.length; i++)
		{
			String queue = parent + "." + names[i];
			int capacity = i == names.length - 1 ? left : 5 * (1 + random.nextInt(left / 5 - (names.length - i) + 1));

			left -= capacity;
			set(queue + ".capacity", is("auto2") ? one("1w", "1.5w", "3w") : Integer.toString(capacity));
			if (chance(0.3))
				set(queue + ".maximum-capacity", one("50", "80", "100"));
			for (int j = 0; j < workload.withArray("labels").size(); j++)
				set(queue + ".accessible-node-labels." + LABELS[j] + ".capacity", Integer.toString(capacity));
			// In auto1 and auto2, queues are created automatically below a and c, so these have no
			// children at first.
			if (depth < 3 && !names[i].equals("default") && !is("auto1", "auto2") && chance(0.4))
			{
				parents.add(queue);
				addQueues(queue, chance(0.5) ? new String[] {"a", "e"} : new String[] {"b"}, depth + 1);
			}
			else
				leaves.add(queue);
		}
	}

	/** Sets the properties that the family is about. A refresh sets them again. */
	private void configure()
	{
		for (String leaf : leaves)
			if (chance(0.6))
				configureLeaf(leaf);
		switch (family)
		{
			case "limits":
				set("maximum-applications", one("3", "6", "10000"));
				if (chance(0.3))
					set("global-queue-max-application", one("2", "4"));
				break;
			case "parallel":
				set("max-parallel-apps", one("1", "2", "4"));
				set("root.max-parallel-apps", one("4", "6", "8"));
				set("user." + one(USERS) + ".max-parallel-apps", one("0", "1", "2", "4"));
				break;
			case "priority":
				properties.put("yarn.acl.enable", "true").put("yarn.admin.acl", one("*", " "));
				set("root.acl_submit_applications", one(" ", " ", "alice,bob ops"));
				set("workflow-priority-mappings", "w1:root:12,w2:root:7");
				set("workflow-priority-mappings-override.enable", one("true", "false"));
				break;
			case "lifetime":
				set("root.maximum-application-lifetime", one("-1", "600"));
				set("root.default-application-lifetime", one("-1", "30", "50"));
				break;
			case "place":
				set("queue-mappings", one("u:%user:default,g:dev:" + one(leaves), "u:bob:%primary_group,g:ops:" + one(leaves), "u:alice:" + one(leaves) + ",g:dev:root.%user"));
				set("queue-mappings-override.enable", one("true", "false"));
				break;
			case "states":
				for (String parent : parents)
					if (chance(0.3))
						set(parent + ".state", one("RUNNING", "STOPPED"));
				break;
			case "auto2":
				set(leaves.get(1) + ".auto-queue-creation-v2.enabled", "true");
				set(leaves.get(1) + ".auto-queue-creation-v2." + one("template", "leaf-template", "parent-template") + ".max-parallel-apps", one("1", "2"));
				if (chance(0.3))
					set(leaves.get(1) + ".auto-queue-creation-v2.maximum-queue-depth", one("2", "3"));
				break;
			case "auto1":
				set(leaves.get(1) + ".auto-create-child-queue.enabled", "true");
				set(leaves.get(1) + ".leaf-queue-template.capacity", one("30", "40", "50"));
				set(leaves.get(1) + ".leaf-queue-template.maximum-capacity", "80");
				set("queue-mappings", "g:dev:" + leaves.get(1) + ".%user");
				set("queue-mappings-override.enable", one("true", "false"));
				break;
			default:
		}
	}

	private void configureLeaf(String leaf)
	{
		boolean created = is("auto1", "auto2") && leaf.equals(leaves.get(1));

		switch (family)
		{
			case "limits":
				set(leaf + ".maximum-applications", one("1", "3", "6"));
				set(leaf + ".minimum-user-limit-percent", one("25", "34", "50", "100"));
				break;
			case "parallel":
				set(leaf + ".max-parallel-apps", one("1", "3", "5"));
				break;
			case "labels":
				set(leaf + ".accessible-node-labels", one("*", "x", " "));
				set(leaf + ".accessible-node-labels.x.maximum-am-resource-percent", one("0.2", "0.5"));
				break;
			case "priority":
				set(leaf + ".default-application-priority", one("0", "3", "6"));
				set(leaf + ".acl_application_max_priority", "[user=alice max_priority=3 default_priority=1] [user=bob max_priority=8 default_priority=8]");
				set(leaf + ".acl_submit_applications", one("*", " ops", "carol"));
				break;
			case "lifetime":
				set(leaf + ".maximum-application-lifetime", one("-1", "60", "100"));
				set(leaf + ".default-application-lifetime", one("0", "30", "50"));
				break;
			case "place":
				set(leaf + ".maximum-allocation-mb", "2048");
				break;
			case "states":
				set(leaf + ".state", one("RUNNING", "STOPPED"));
				break;
			default:
				if (!created)
					set(leaf + ".maximum-am-resource-percent", one("0.1", "0.4"));
				if (!created && chance(0.5))
					set(leaf + ".user-limit-factor", one("0.5", "2", "-1"));
		}
	}

	private void addNodes()
	{
		int count = 1 + random.nextInt(3);

		for (int i = 0; i < count; i++)
			node(workload.withArray("nodes").addObject(), "n" + i);
		for (int i = 0; i < workload.withArray("labels").size(); i++)
			node(workload.withArray("nodes").addObject(), "l" + i).put("label", LABELS[i]);
	}

	private ObjectNode node(ObjectNode node, String name)
	{
		return node.put("name", name).put("memory", one(8192, 10240, 12345, 16384)).put("vcores", one(5, 8, 10, 16));
	}

	private ObjectNode operation(String name)
	{
		return steps.addObject().put("do", name);
	}

	/**
	 * Puts an operation on a submitted application. The calling user may differ from the
	 * application's user.
	 */
	private ObjectNode operation(String name, int application)
	{
		return operation(name).put("app", application).put("caller", one(USERS));
	}

	private void step()
	{
		double what = random.nextDouble();

		if (what < 0.5 || applications.isEmpty())
			submit();
		else if (what < 0.62)
			operation("finish", one(applications));
		else if (what < 0.74)
			refresh();
		else
			special(what < 0.87 ? family : one("move", "am"));
		if (chance(0.4) || is("auto1", "auto2"))
			operation("update");
	}

	private void special(String kind)
	{
		switch (kind)
		{
			case "priority":
				operation("priority", one(applications)).put("priority", random.nextInt(14));
				break;
			case "lifetime":
				operation("lifetime", one(applications)).put("lifetime", one(50, 500, 5000));
				break;
			case "auto1":
				operation("manage");
				break;
			case "auto2":
				operation("expire").put("seconds", one(100, 200, 400));
				break;
			case "move":
				operation("move", one(applications)).put("queue", one(leaves));
				break;
			default:
				consume();
		}
	}

	private void consume()
	{
		double what = random.nextDouble();

		if (what < 0.5)
			operation("heartbeat").put("node", "n0");
		else if (what < 0.75)
			operation("ask").put("app", one(applications)).put("memory", one(512, 1024, 1500, 2048)).put("vcores", one(1, 2)).put("count", 1 + random.nextInt(6));
		else if (what < 0.85)
			operation("release").put("app", one(applications)).put("count", 2);
		else if (what < 0.9)
			operation("cancel").put("app", one(applications));
		else
			node(steps.addObject().put("do", "node"), "m" + steps.size());
	}

	private void submit()
	{
		ObjectNode step = operation("submit").put("app", ++submitted).put("user", one(USERS)).put("queue", queue());

		step.putObject("am").put("memory", one(512, 1024, 1024, 2048, 3000)).put("vcores", one(1, 1, 2));
		if (is("priority") && chance(0.6))
			step.put("priority", random.nextInt(14));
		if (is("priority") && chance(0.4))
			step.putArray("tags").add(one("workflowid:w1", "workflowid:w9"));
		if (is("lifetime") && chance(0.6))
			step.put("lifetime", one(-5, 0, 1, 20, 100));
		if (is("labels") && chance(0.5))
			step.put("label", one(LABELS));
		if (chance(0.03))
			step.put("unmanaged", true);
		applications.add(submitted);
	}

	private String queue()
	{
		String leaf = one(leaves);

		if (is("auto2") && chance(0.6))
			return leaves.get(1) + one(".u1", ".u2", ".g1.u1", ".g1.u2", ".g1.h1.u1", "..u1");
		if (is("auto1"))
			return chance(0.8) ? "default" : leaves.get(1) + one("", ".alice");
		return chance(0.1) ? leaf.substring(leaf.lastIndexOf('.') + 1) : !parents.isEmpty() && chance(0.05) ? one(parents) : leaf;
	}

	private void refresh()
	{
		properties = operation("refresh").putObject("properties");
		configure();
	}
}

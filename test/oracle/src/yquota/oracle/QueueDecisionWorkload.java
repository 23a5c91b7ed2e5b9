package yquota.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Random queues with access lists and mapping rules, and random questions about them. */
final class QueueDecisionWorkload
{
	/** The notations of mapping rules. */
	static final String[] FAMILIES = {"legacy", "json"};

	private static final String QUEUES = "yarn.scheduler.capacity.";
	/**
	 * Names of queues. Some are also names of users and groups, because mapping rules put these
	 * into paths.
	 */
	private static final String[] NAMES = {"a", "b", "c", "bob", "dev", "ops", "u1", "u2", "users", "x_dot_y", "default"};
	private static final String[] USERS = {"bob", "eve", "dev", "u1", "u2", "x.y"};
	private static final String[] GROUPS = {"g1", "ops", "dev", "a", "u1", "x.y"};
	private static final String[] APPLICATIONS = {"web", "etl", "a", "u1", "N/A"};
	private static final String[] LISTS = {"*", " ", "eve", "bob", "u1", "eve x.y", "u1,bob dev", " ops,g1", "u2 *"};
	private static final String[] TEMPLATES = {"template", "leaf-template", "parent-template"};
	private static final String[] VARIABLES = {"%user", "%application", "%primary_group", "%secondary_group", "%specified"};

	private final String family;
	private final Random random;
	private final ObjectNode workload = Oracle.JSON.createObjectNode();
	private final ObjectNode properties;
	private final List<String> queues = new ArrayList<>();
	private final List<String> leaves = new ArrayList<>();
	private final Map<String, String> groups = new TreeMap<>();

	QueueDecisionWorkload(String family, long seed)
	{
		this.family = family;
		random = new Random(seed * 31 + family.hashCode());
		workload.put("name", Long.toString(seed));
		properties = workload.putObject("properties");
	}

	ObjectNode make()
	{
		set("legacy-queue-mode.enabled", "true");
		addChildren("root", 1);
		lists("root");
		if (family.equals("json"))
			addRules();
		else
			addMappings();
		properties.put("yarn.acl.enable", "true").put("yarn.admin.acl", one("eve", " ", "bob ops")).put("yarn.cluster.max-application-priority", "10");
		if (chance(0.5))
			templates(one(queues) + ".*");
		for (String user : USERS)
			groups.put(user, someGroups());
		for (int i = 0; i < 14; i++)
			ask("Q", one("default", "default", "root.default", "none", "root", one(queues)), one(APPLICATIONS));
		for (int i = 0; i < 8; i++)
			ask("A", one(queues), one("SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE"));
		for (int i = 0; i < 6; i++)
			ask("R", one(leaves), one("\\N", "-2", "0", "3", "6", "11"));
		for (int i = 0; i < 8; i++)
			ask("S", one(queues) + one("", ".zz", ".yy.zz"));
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

	private String one(List<String> of)
	{
		return of.get(random.nextInt(of.size()));
	}

	private void set(String property, String value)
	{
		properties.put(QUEUES + property, value);
	}

	private String someGroups()
	{
		List<String> some = new ArrayList<>(Arrays.asList(GROUPS));

		Collections.shuffle(some, random);
		return String.join(",", some.subList(0, random.nextInt(5)));
	}

	private void addChildren(String parent, int depth)
	{
		List<String> names = new ArrayList<>(Arrays.asList(NAMES));

		Collections.shuffle(names, random);
		names = new ArrayList<>(names.subList(0, 1 + random.nextInt(4)));
		if (depth == 1 && !names.contains("default"))
			names.add("default");
		set(parent + ".queues", String.join(",", names));
		queues.add(parent);
		for (String name : names)
			addQueue(parent + "." + name, depth);
	}

	private void addQueue(String queue, int depth)
	{
		boolean isParent = depth < 3 && chance(0.35) && !queue.equals("root.default");

		set(queue + ".capacity", "1w");
		lists(queue);
		if (chance(0.3))
			set(queue + ".default-application-priority", one("0", "3", "12"));
		if (isParent)
			addChildren(queue, depth + 1);
		else if (!queue.equals("root.default") && chance(0.3))
		{
			queues.add(queue);
			set(queue + ".auto-create-child-queue.enabled", "true");
			set(queue + ".leaf-queue-template.capacity", "10");
			set(queue + ".leaf-queue-template.acl_submit_applications", one(LISTS));
		}
		else
			addLeaf(queue);
		if (chance(0.4) && properties.path(QUEUES + queue + ".auto-create-child-queue.enabled").isMissingNode())
		{
			set(queue + ".auto-queue-creation-v2.enabled", "true");
			templates(queue);
		}
	}

	private void addLeaf(String queue)
	{
		queues.add(queue);
		leaves.add(queue);
		if (chance(0.2))
			set(queue + ".acl_application_max_priority", one("*", "[user=eve max_priority=9 default_priority=6] [user=bob group=* max_priority=3 default_priority=2]",
				"[user=* max_priority=2 default_priority=1][user=u1 max_priority=7 default_priority=4]", "[user=u1,bob group=dev max_priority=7 default_priority=4]"));
	}

	private void lists(String queue)
	{
		if (queue.equals("root") || chance(0.35))
			set(queue + ".acl_submit_applications", one(LISTS));
		if (queue.equals("root") || chance(0.25))
			set(queue + ".acl_administer_queue", one(LISTS));
	}

	private void templates(String queue)
	{
		for (String template : TEMPLATES)
			if (chance(0.4))
				set(queue + ".auto-queue-creation-v2." + template + one(".acl_submit_applications", ".acl_administer_queue"), one(LISTS));
	}

	private void addMappings()
	{
		List<String> mappings = new ArrayList<>();

		for (int i = 0; i <= random.nextInt(5); i++)
			mappings.add(one("u:" + one("%user", "%application", one(USERS)), "g:" + one("%user", one(GROUPS))) + ":" + target());
		set("queue-mappings", String.join(",", mappings));
		if (chance(0.8))
			set("queue-mappings-override.enable", one("true", "true", "false"));
		if (chance(0.5))
			properties.put("yarn.scheduler.queue-placement-rules.app-name", one(APPLICATIONS) + ":" + target());
	}

	private String target()
	{
		return one(one(queues), one(queues) + "." + one(VARIABLES), one(VARIABLES), "root." + one(VARIABLES), one(NAMES), one(VARIABLES) + "." + one(VARIABLES));
	}

	private void addRules()
	{
		ArrayNode rules = Oracle.JSON.createArrayNode();

		for (int i = 0; i <= random.nextInt(6); i++)
		{
			ObjectNode rule = rules.addObject().put("type", one("user", "group", "application"));
			String policy = one("user", "primaryGroup", "primaryGroupUser", "secondaryGroup", "secondaryGroupUser", "applicationName", "specified",
				"defaultQueue", "setDefaultQueue", "custom", "reject");

			rule.put("matches", one(one(USERS), one(GROUPS), one(APPLICATIONS), "%user", "%application", "%specified", rule.get("type").asText().equals("group") ? "a" : "*"));
			rule.put("policy", policy);
			if (policy.equals("custom"))
				rule.put("customPlacement", target());
			else if (policy.equals("setDefaultQueue"))
				rule.put("value", target());
			else if (!List.of("specified", "defaultQueue", "reject").contains(policy) && chance(0.7))
				rule.put("parentQueue", one(queues));
			if (chance(0.8))
				rule.put("fallbackResult", one("skip", "placeDefault", "reject"));
			if (chance(0.4))
				rule.put("create", chance(0.5));
		}
		set("mapping-rule-format", "json");
		set("mapping-rule-json", Oracle.JSON.createObjectNode().set("rules", rules).toString());
	}

	private void ask(String kind, String... fields)
	{
		ArrayNode question = workload.withArray("questions").addArray().add(kind);
		String user = one(USERS);

		question.add(user).add(groups.get(user));
		for (String field : fields)
			question.add(field);
	}
}

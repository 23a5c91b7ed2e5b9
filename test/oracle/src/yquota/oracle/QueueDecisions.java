package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueuePath;
import org.apache.hadoop.yarn.util.Records;

/**
 * The area "queue-decisions": in which queue an application is placed, who may do what, and which
 * priority an application gets. The head of test/queues/decisions.txt describes the lines of the
 * records. Here a case has its properties and its questions. A question has the fields of its line;
 * the last field is the answer.
 */
public final class QueueDecisions implements Area
{
	private static final String NOTHING = "\\N";

	private Cluster cluster;

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new QueueDecisions(), arguments);
	}

	@Override
	public List<ObjectNode> read(BufferedReader in) throws IOException
	{
		List<ObjectNode> cases = new ArrayList<>();

		for (String line; (line = in.readLine()) != null;)
		{
			String[] fields = line.split("\t", -1);

			if (fields[0].equals("CASE"))
				cases.add(Oracle.JSON.createObjectNode().put("name", fields[1]).put("starts", fields.length > 2 && fields[2].equals("starts")));
			else if (fields[0].equals("P"))
				cases.get(cases.size() - 1).with("properties").put(fields[1], fields[2]);
			else if (!line.startsWith("#"))
			{
				ArrayNode question = cases.get(cases.size() - 1).withArray("questions").addArray();

				for (String field : fields)
					question.add(field);
			}
		}
		return cases;
	}

	@Override
	public String write(ObjectNode record)
	{
		List<String> lines = new ArrayList<>();

		lines.add(String.join("\t", "CASE", record.get("name").asText(), record.path("starts").asBoolean(true) ? "starts" : "refuses"));
		record.get("properties").fields().forEachRemaining(property -> lines.add(String.join("\t", "P", property.getKey(), property.getValue().asText())));
		for (JsonNode question : record.path("questions"))
		{
			List<String> fields = new ArrayList<>();

			question.forEach(field -> fields.add(field.asText()));
			lines.add(String.join("\t", fields));
		}
		return String.join("\n", lines);
	}

	@Override
	public String[] families()
	{
		return QueueDecisionWorkload.FAMILIES;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		return new QueueDecisionWorkload(family, seed).make();
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = Oracle.JSON.createObjectNode().put("name", workload.get("name").asText());

		record.set("properties", workload.get("properties"));
		try
		{
			cluster = new Cluster(workload.get("properties"), Oracle.JSON.createArrayNode());
		}
		catch (Exception e)
		{
			return record.put("starts", false);
		}
		try (Cluster started = cluster)
		{
			record.put("starts", true);
			for (JsonNode question : workload.path("questions"))
				record.withArray("questions").add(answered((ArrayNode) question));
		}
		return record;
	}

	private ArrayNode answered(ArrayNode question) throws Exception
	{
		ArrayNode answered = Oracle.JSON.createArrayNode();
		UserGroupInformation user = user(question.get(1).asText(), question.get(2).asText());
		String kind = question.get(0).asText();
		int inputs = kind.equals("S") ? 4 : 5;
		String last = question.get(inputs - 1).asText();

		for (int i = 0; i < inputs; i++)
			answered.add(question.get(i));
		switch (kind)
		{
			case "Q":
				return answered.add(place(user.getShortUserName(), question.get(3).asText(), last));
			case "A":
				return answered.add(Boolean.toString(cluster.scheduler.checkAccess(user, QueueACL.valueOf(last), question.get(3).asText())));
			case "R":
				return answered.add(priority(user, question.get(3).asText(), last));
			case "S":
				return answered.add(Boolean.toString(maySubmit(user, last)));
			default:
				throw new IllegalArgumentException(kind);
		}
	}

	private static UserGroupInformation user(String name, String groups)
	{
		UserGroups.put(name, groups.isEmpty() ? new String[0] : groups.split(","));
		Groups.getUserToGroupsMappingService().refresh();
		return UserGroupInformation.createRemoteUser(name);
	}

	private String place(String user, String queue, String application)
	{
		ApplicationSubmissionContext context = Records.newRecord(ApplicationSubmissionContext.class);

		context.setApplicationId(Cluster.applicationId(1));
		context.setApplicationName(application);
		context.setQueue(queue);
		try
		{
			ApplicationPlacementContext placement = cluster.manager.getRMContext().getQueuePlacementManager().placeApplication(context, user);

			return placement == null ? "null" : placement.getFullQueuePath();
		}
		catch (YarnException e)
		{
			return "refused";
		}
	}

	private String priority(UserGroupInformation user, String queue, String requested)
	{
		try
		{
			return Integer.toString(cluster.scheduler.checkAndGetApplicationPriority(
				requested.equals(NOTHING) ? null : Priority.newInstance(Integer.parseInt(requested)), user, queue, Cluster.applicationId(1)).getPriority());
		}
		catch (YarnException e)
		{
			return "refused";
		}
	}

	/**
	 * Returns what the resource manager answers when an application comes. A queue that does not
	 * exist counts with the access lists that it would get. If the queue cannot be created, this
	 * check allows the application.
	 */
	private boolean maySubmit(UserGroupInformation user, String name)
	{
		CSQueue queue = cluster.queue(name);
		PrivilegedEntity entity = new PrivilegedEntity(queue == null ? name : queue.getQueuePath());
		List<YarnAuthorizationProvider> authorizers = new ArrayList<>();

		authorizers.add(YarnAuthorizationProvider.getInstance(cluster.manager.getConfig()));
		if (queue == null)
		{
			List<Permission> permissions = cluster.scheduler.getCapacitySchedulerQueueManager().getPermissionsForDynamicQueue(
				new QueuePath(name), cluster.scheduler.getConfiguration());

			if (permissions.isEmpty())
				return true;
			authorizers.add(new ConfiguredYarnAuthorizer());
			authorizers.get(1).setPermission(permissions, user);
		}
		for (QueueACL acl : new QueueACL[] {QueueACL.SUBMIT_APPLICATIONS, QueueACL.ADMINISTER_QUEUE})
			for (YarnAuthorizationProvider authorizer : authorizers)
				if (authorizer.checkPermission(new AccessRequest(entity, user, SchedulerUtils.toAccessType(acl), Cluster.applicationId(1).toString(), "app", "", null)))
					return true;
		return false;
	}
}

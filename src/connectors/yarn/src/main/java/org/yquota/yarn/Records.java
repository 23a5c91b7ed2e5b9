package org.yquota.yarn;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;

/**
 * Records of the spool. Each record is a line with a word for its kind and its values, separated by
 * tabs. Values are in the format of COPY, so that events can be sent to the server without a
 * conversion.
 */
final class Records {
	private static final Pattern FUNCTION = Pattern.compile("yquota\\.[a-z_]+(?=\\()");
	static final String EVENT = "event";
	/** columns of yquota.container_event in the order of an event's values */
	static final String EVENT_COLUMNS = "event, container_id, occurred_at, project, application_id, username, queue, node, allocation,"
		+ " execution_type, exit_status, source, priority, allocation_request_id, asked_label, is_am, is_running";
	static final String RECOVERY = "recovery";
	static final String ALIVE = "alive";
	static final String RECOVERED = "recovered";
	static final String RECONCILE = "reconcile";
	static final String NODE = "node";
	static final String NODE_LOST = "node_lost";
	static final String APPLICATION = "application";
	static final String APPLICATION_END = "application_end";
	static final String APPLICATIONS_ENDED = "applications_ended";
	static final String APPLICATION_MOVE = "application_move";
	static final String APPLICATION_PRIORITY = "application_priority";
	static final String APPLICATION_LIFETIME = "application_lifetime";

	/** Expression for the seconds that are left until the instant p.expires. Parameters are text. */
	static final String SECONDS_LEFT = "greatest(1, round(extract(epoch FROM p.expires::timestamptz - yquota.clock())))::bigint";
	/** Call that submits an application. The row p has the values of the application's record, in their order. */
	static final String SUBMISSION = "yquota.submit_application(p.id, p.username, string_to_array(p.groups, ','), p.queue, p.name,"
		+ " p.master::yquota.resource, p.priority::integer, CASE WHEN p.expires IS NOT NULL THEN " + SECONDS_LEFT + " END,"
		+ " string_to_array(p.tags, E'\\t'), p.label, p.unmanaged::boolean, p.project)";
	static final String SUBMISSION_VALUES = "(VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))"
		+ " AS p (id, username, groups, queue, name, master, priority, expires, tags, label, unmanaged, project)";

	/** An event of a container. A value that is null leaves the container's value unchanged. */
	static final class Event {
		private final String[] values = new String[17];

		Event(String event, String containerId, long time, String source) {
			values[0] = event;
			values[1] = containerId;
			values[2] = time(time);
			values[11] = source;
		}

		Event project(String project) {
			values[3] = project;
			return this;
		}

		Event application(String id, String username) {
			values[4] = id;
			values[5] = username;
			return this;
		}

		Event queue(String queue) {
			values[6] = queue;
			return this;
		}

		Event node(String node) {
			values[7] = node;
			return this;
		}

		Event allocation(Resource allocation) {
			values[8] = resource(allocation);
			return this;
		}

		Event executionType(String executionType) {
			values[9] = executionType;
			return this;
		}

		Event exitStatus(int exitStatus) {
			values[10] = Integer.toString(exitStatus);
			return this;
		}

		Event asked(int priority, long allocationRequestId, String label) {
			values[12] = Integer.toString(priority);
			values[13] = Long.toString(allocationRequestId);
			values[14] = label;
			return this;
		}

		Event isMaster(boolean isMaster) {
			values[15] = isMaster ? "t" : "f";
			return this;
		}

		Event isRunning(boolean isRunning) {
			values[16] = isRunning ? "t" : "f";
			return this;
		}

		String record() {
			return Records.record(EVENT, values);
		}
	}

	private Records() {
	}

	static String compute(String source, long time) {
		return new Event("QUOTA_COMPUTE", null, time, source).record();
	}

	/** Makes the record of a recovery: "alive" is the last time at which this ResourceManager was alive, or null. */
	static String recovery(String source, Long alive, long recovered) {
		return record(RECOVERY, source, alive == null ? null : time(alive), time(recovered));
	}

	static String alive(String source, long alive) {
		return record(ALIVE, source, time(alive));
	}

	/** Makes the record of the containers with which a node has registered. */
	static String recovered(String source, String list, long asOf) {
		return record(RECOVERED, source, list, time(asOf));
	}

	/**
	 * Makes the record of a comparison. With a source, containers that are not in the list have not survived the
	 * restart.
	 */
	static String reconcile(String list, long asOf, String source) {
		return record(RECONCILE, list, time(asOf), source);
	}

	/** Returns a record that the server has refused as an argument of yquota.reject_call(). */
	static String call(String record, String statement) {
		ObjectNode call = new ObjectMapper().createObjectNode();
		String[] values = values(record);

		if (record.startsWith(EVENT + "\t")) {
			String[] columns = EVENT_COLUMNS.split(", ");
			ObjectNode row = call.put("table", "yquota.container_event").putObject("row");
			for (int i = 0; i < values.length && i < columns.length; i++) {
				if (values[i] != null) {
					row.put(columns[i], values[i]);
				}
			}
		} else {
			Matcher function = FUNCTION.matcher(statement == null ? "" : statement);
			call.put("function", function.find() ? function.group() : record.split("\t", 2)[0]);
			ArrayNode arguments = call.putArray("arguments");
			for (String value : values) {
				arguments.add(value);
			}
		}
		return call.toString();
	}

	/** Returns the time of an event in milliseconds, or null for any other record. */
	static Long eventTime(String record) {
		String[] values = record.startsWith(EVENT + "\t") ? values(record) : new String[0];

		try {
			return values.length > 2 ? Long.valueOf(Instant.parse(values[2]).toEpochMilli()) : null;
		} catch (DateTimeParseException e) {
			return null;
		}
	}

	static String record(String kind, String... values) {
		StringBuilder record = new StringBuilder(kind);

		for (String value : values) {
			record.append('\t').append(value == null ? "\\N" : escape(value));
		}
		return record.append('\n').toString();
	}

	/** Returns the values of a record; absent values are null. */
	static String[] values(String record) {
		String[] parts = record.split("\t", -1);
		String[] values = new String[parts.length - 1];

		for (int i = 0; i < values.length; i++) {
			values[i] = parts[i + 1].equals("\\N") ? null : unescape(parts[i + 1]);
		}
		return values;
	}

	/** Returns a time in milliseconds in the notation of the server. */
	static String time(long time) {
		return Instant.ofEpochMilli(time).toString();
	}

	/** Returns a resource in the notation of yquota: memory in MiB, other amounts with Hadoop's units. */
	static String resource(Resource resource) {
		StringBuilder text = new StringBuilder("[");

		for (ResourceInformation information : resource.getResources()) {
			if (text.length() > 1) {
				text.append(',');
			}
			text.append(information.getName()).append('=').append(information.getValue());
			text.append(information.getUnits());
		}
		return text.append(']').toString();
	}

	/** Escapes a value for COPY. Removes NUL characters, which texts of the server cannot have. */
	private static String escape(String value) {
		return value.replace("\0", "").replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
	}

	private static String unescape(String value) {
		if (value.indexOf('\\') < 0) {
			return value;
		}
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < value.length(); i++) {
			char c = value.charAt(i);
			if (c == '\\') {
				c = value.charAt(++i);
				c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
			}
			text.append(c);
		}
		return text.toString();
	}
}

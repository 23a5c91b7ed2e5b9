package org.yquota.yarn;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;

/**
 * Records about applications.
 *
 * <p>Changes are found by comparing an application with the state that was last reported, so that no change is missed.
 * The ResourceManager calls no method when it changes a lifetime. A ResourceManager that takes over does not know what
 * the previous one has reported.
 */
final class ApplicationRecords {
	private final RMContext context;
	private final Function<RMApp, String> projectOf;
	private final UnaryOperator<String> pathOf;
	private final Consumer<String> feed;
	/** the last reported state of each application whose end was not reported */
	private final Map<ApplicationId, Told> told = new ConcurrentHashMap<>();

	/** The facts about an application that may change, as reported to yquota; null if yquota's value is not known. */
	private static final class Told {
		private String queue;
		/** whether yquota also has the application in this queue */
		private boolean isThere;
		private Integer priority;
		/** in milliseconds */
		private Long expiry;
	}

	/** projectOf returns the project of an application, and pathOf returns the path of a queue. */
	ApplicationRecords(RMContext context, Function<RMApp, String> projectOf, UnaryOperator<String> pathOf, Consumer<String> feed) {
		this.context = context;
		this.projectOf = projectOf;
		this.pathOf = pathOf;
		this.feed = feed;
	}

	/** A submitted application as values of Records.SUBMISSION. */
	final class Submission {
		private final ApplicationId id;
		private final Told state;
		final String[] values;

		private Submission(RMApp application) {
			ApplicationSubmissionContext submission = application.getApplicationSubmissionContext();
			List<ResourceRequest> master = application.getAMResourceRequests();
			boolean hasMaster = master != null && !master.isEmpty();

			id = application.getApplicationId();
			state = stateOf(application);
			state.isThere = true;
			values = new String[] {
				id.toString(),
				application.getUser(),
				String.join(",", UserGroupInformation.createRemoteUser(application.getUser()).getGroupNames()),
				application.getQueue(),
				application.getName(),
				hasMaster ? Records.resource(master.get(0).getCapability()) : null,
				state.priority == null ? null : state.priority.toString(),
				state.expiry == null ? null : Records.time(state.expiry),
				submission.getApplicationTags() == null ? null : String.join("\t", submission.getApplicationTags()),
				hasMaster ? master.get(0).getNodeLabelExpression() : null,
				Boolean.toString(submission.getUnmanagedAM()),
				projectOf.apply(application),
			};
		}

		/** Reports that the application was accepted. */
		void tell() {
			feed.accept(record());
			isKnown();
		}

		/** Notes that yquota has recorded the application. From now on its changes are reported. */
		void isKnown() {
			told.put(id, state);
		}

		private String record() {
			return Records.record(Records.APPLICATION, values);
		}
	}

	Submission submission(ApplicationId id) {
		return new Submission(context.getRMApps().get(id));
	}

	/** Reports an application that is already running. yquota may lack it, or have an earlier state of it. */
	void recovered(ApplicationId id) {
		RMApp application = context.getRMApps().get(id);

		feed.accept(new Submission(application).record());
		told.put(id, uncertain(application));
	}

	void ended(ApplicationId id, RMAppState state) {
		RMApp application = context.getRMApps().get(id);

		told.remove(id);
		feed.accept(Records.record(Records.APPLICATION_END, id.toString(), state.name(),
			application == null ? null : application.getDiagnostics().toString()));
	}

	/**
	 * Reports what has changed in an application. Before the record of its submission, nothing is reported, because
	 * that record has the state of its own time.
	 */
	synchronized void look(RMApp application) {
		ApplicationId id = application.getApplicationId();
		Told known = told.get(id);
		Told now = known == null ? null : stateOf(application);

		if (known != null && told.replace(id, known, now)) {
			now.isThere = known.isThere || !Objects.equals(known.queue, now.queue);
			tellChange(Records.APPLICATION_MOVE, id, known.queue, now.queue);
			tellChange(Records.APPLICATION_PRIORITY, id, known.priority, now.priority);
			tellChange(Records.APPLICATION_LIFETIME, id, timeOf(known.expiry), timeOf(now.expiry));
		}
	}

	void lookAtAll() {
		context.getRMApps().values().forEach(this::look);
	}

	/**
	 * Reports the queues of recovered applications. In yquota, a move of an application moves its containers at once.
	 * So two kinds of earlier records must come first: ends of containers that did not survive the restart, and moves
	 * of containers in the spool of the previous ResourceManager.
	 */
	synchronized void tellQueues() {
		told.forEach((id, known) -> {
			if (!known.isThere) {
				tellChange(Records.APPLICATION_MOVE, id, null, known.queue);
				known.isThere = true;
			}
		});
	}

	/** Reports which applications have ended. A ResourceManager that was killed may not have reported an end. */
	void tellEnded() {
		ArrayNode list = new ObjectMapper().createArrayNode();

		for (RMApp application : context.getRMApps().values()) {
			if (application.isAppInCompletedStates()) {
				list.addObject().put("application_id", application.getApplicationId().toString()).put("state", application.getState().name());
			}
		}
		if (list.size() > 0) {
			feed.accept(Records.record(Records.APPLICATIONS_ENDED, list.toString()));
		}
	}

	/** Reports all applications again, after records were lost. */
	synchronized void tellAgain() {
		for (RMApp application : context.getRMApps().values()) {
			if (told.replace(application.getApplicationId(), uncertain(application)) != null) {
				feed.accept(new Submission(application).record());
			}
		}
	}

	private Told uncertain(RMApp application) {
		Told state = new Told();

		state.queue = stateOf(application).queue;
		return state;
	}

	private Told stateOf(RMApp application) {
		Told state = new Told();
		Priority priority = application.getApplicationPriority();

		state.queue = application.getQueue() == null ? null : pathOf.apply(application.getQueue());
		state.priority = priority == null ? null : Integer.valueOf(priority.getPriority());
		state.expiry = application.getApplicationTimeouts().get(ApplicationTimeoutType.LIFETIME);
		return state;
	}

	private void tellChange(String kind, ApplicationId id, Object known, Object now) {
		if (now != null && !Objects.equals(known, now)) {
			feed.accept(Records.record(kind, id.toString(), now.toString()));
		}
	}

	private static String timeOf(Long expiry) {
		return expiry == null ? null : Records.time(expiry);
	}
}

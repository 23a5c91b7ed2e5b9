package org.yquota.yarn;

import static org.junit.Assert.assertEquals;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Collectors;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Test;

/** Tests of records about applications: each change is reported, once. */
public class ApplicationRecordsTest {
	private static final ApplicationId ID = ApplicationId.newInstance(1, 1);
	private static final long EXPIRY = 1_772_445_600_000L;

	private final ConcurrentMap<ApplicationId, RMApp> applications = new ConcurrentHashMap<>();
	private final RMContext context = proxy(RMContext.class, Collections.singletonMap("getRMApps", applications));
	/** the application's data in the ResourceManager */
	private final Map<String, Object> application = new HashMap<>();
	private final List<String> told = new ArrayList<>();
	private final ApplicationRecords records = records();

	public ApplicationRecordsTest() {
		ApplicationSubmissionContext submission = org.apache.hadoop.yarn.util.Records.newRecord(ApplicationSubmissionContext.class);

		submission.setUnmanagedAM(true);
		application.put("getApplicationId", ID);
		application.put("getApplicationSubmissionContext", submission);
		application.put("getAMResourceRequests", null);
		application.put("getUser", "alice");
		application.put("getName", "n");
		application.put("getDiagnostics", new StringBuilder("done"));
		application.put("isAppInCompletedStates", false);
		change("default", 1, EXPIRY);
		applications.put(ID, proxy(RMApp.class, application));
	}

	/** Returns an object whose methods return values of a map. */
	private static <T> T proxy(Class<T> type, Map<String, ?> answers) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (object, method, arguments) -> {
			if (!answers.containsKey(method.getName())) {
				throw new UnsupportedOperationException(method.getName());
			}
			return answers.get(method.getName());
		}));
	}

	private ApplicationRecords records() {
		return new ApplicationRecords(context, app -> "lab", queue -> "root." + queue, told::add);
	}

	private void change(String queue, int priority, Long expiry) {
		application.put("getQueue", queue);
		application.put("getApplicationPriority", Priority.newInstance(priority));
		application.put("getApplicationTimeouts",
			expiry == null ? Collections.emptyMap() : Collections.singletonMap(ApplicationTimeoutType.LIFETIME, expiry));
	}

	/** Returns the kinds and last values of the records that were reported since the last call. */
	private List<String> told() {
		List<String> kinds = told.stream().map(record -> record.split("\t")[0] + " " + record.trim().substring(record.lastIndexOf('\t') + 1))
			.collect(Collectors.toList());

		told.clear();
		return kinds;
	}

	private void assertTold(String... expected) {
		assertEquals(Arrays.asList(expected), told());
	}

	@Test
	public void nothingIsToldBeforeItsRecord() {
		records.lookAtAll();
		change("batch", 7, EXPIRY + 1);
		records.look(applications.get(ID));
		assertTold();
	}

	@Test
	public void aChangeBeforeTheFirstLookIsTold() {
		records.submission(ID).tell();
		assertEquals("2026-03-02T10:00:00Z", Records.values(told.get(0).trim())[7]);
		assertTold("application lab");
		change("batch", 7, EXPIRY + 1000);
		records.lookAtAll();
		assertTold("application_move root.batch", "application_priority 7", "application_lifetime 2026-03-02T10:00:01Z");
		records.lookAtAll();
		assertTold();
	}

	@Test
	public void aChangeWhileYquotaIsAskedIsTold() {
		ApplicationRecords.Submission asked = records.submission(ID);

		change("default", 1, EXPIRY + 1000);
		records.lookAtAll();
		assertTold();
		asked.isKnown();
		records.lookAtAll();
		assertTold("application_lifetime 2026-03-02T10:00:01Z");
	}

	@Test
	public void allIsToldAfterARecoveryOnce() {
		records.recovered(ID);
		assertTold("application lab");
		records.lookAtAll();
		assertTold("application_priority 1", "application_lifetime 2026-03-02T10:00:00Z");
		records.tellQueues();
		assertTold("application_move root.default");
		records.lookAtAll();
		records.tellQueues();
		assertTold();
		records.tellAgain();
		records.tellQueues();
		records.lookAtAll();
		assertTold("application lab", "application_move root.default", "application_priority 1", "application_lifetime 2026-03-02T10:00:00Z");
	}

	@Test
	public void aMoveAfterARecoveryIsToldAtOnce() {
		records.recovered(ID);
		change("batch", 1, EXPIRY);
		records.look(applications.get(ID));
		assertTold("application lab", "application_move root.batch", "application_priority 1", "application_lifetime 2026-03-02T10:00:00Z");
		records.tellQueues();
		assertTold();
	}

	@Test
	public void oneWithoutALifetimeGetsOne() {
		change("default", 1, null);
		records.recovered(ID);
		records.lookAtAll();
		assertTold("application lab", "application_priority 1");
		change("default", 1, EXPIRY);
		records.lookAtAll();
		assertTold("application_lifetime 2026-03-02T10:00:00Z");
	}

	@Test
	public void nothingIsToldAfterItsEnd() {
		records.submission(ID).tell();
		records.ended(ID, RMAppState.FINISHED);
		assertTold("application lab", "application_end done");
		change("batch", 7, EXPIRY + 1000);
		records.lookAtAll();
		records.tellAgain();
		assertTold();
	}

	@Test
	public void endsAreToldAgain() {
		records.tellEnded();
		assertTold();
		application.put("isAppInCompletedStates", true);
		application.put("getState", RMAppState.KILLED);
		records.tellEnded();
		assertTold("applications_ended [{\"application_id\":\"application_1_0001\",\"state\":\"KILLED\"}]");
	}
}

package org.yquota.yarn;

import java.io.File;
import java.security.PrivilegedExceptionAction;
import java.util.EnumSet;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.util.Records;

/**
 * Runs a cluster whose ResourceManager asks yquota before it accepts an application.
 *
 * <p>Arguments: directory, JDBC URL. Three times the program reaches a submission, submits an application, and prints
 * its state. Finally it asks twice about one application, as after a lost answer. See Caller.
 */
public final class AskRun {
	private AskRun() {
	}

	public static void main(String[] arguments) throws Exception {
		YarnConfiguration conf = new YarnConfiguration();

		conf.set(YarnConfiguration.RM_SCHEDULER, FeedingCapacityScheduler.class.getName());
		conf.set(FeedConfiguration.URL, arguments[1]);
		conf.set(FeedConfiguration.SPOOL_DIRECTORY, new File(arguments[0], "ask").getPath());
		conf.set(FeedConfiguration.SOURCE, "ask");
		conf.set(FeedConfiguration.APPLICATIONS, "ASK");
		conf.setBoolean(FeedConfiguration.ASK_ACCEPTS_WHEN_AWAY, false);
		conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING, false);
		UserGroupInformation.createUserForTesting("lab__alice", new String[] {"users"})
			.doAs((PrivilegedExceptionAction<Void>) () -> {
				run(conf);
				return null;
			});
		System.exit(0);
	}

	private static void run(YarnConfiguration conf) throws Exception {
		try (MiniYARNCluster cluster = new MiniYARNCluster("ask", 1, 1, 1); YarnClient client = YarnClient.createYarnClient()) {
			cluster.init(conf);
			cluster.start();
			if (!cluster.waitForNodeManagersToConnect(60_000)) {
				throw new IllegalStateException("the node does not connect");
			}
			client.init(cluster.getConfig());
			client.start();
			for (int i = 0; i < 3; i++) {
				Caller.reached("a submission");
				ApplicationReport report = submit(client);
				Caller.reached(report.getYarnApplicationState() + ": " + report.getDiagnostics().replace('\n', ' '));
			}
			Admission admission = new Admission(new FeedConfiguration(conf));
			String[] values = {"application_1_0001", "lab__alice", "users", "default", "twice", "[memory-mb=128,vcores=1]", "1",
				org.yquota.yarn.Records.time(System.currentTimeMillis() + 3_600_000), null, null, "true", "lab"};
			for (int i = 0; i < 2; i++) {
				Admission.Answer answer = admission.answer(values);
				Caller.reached("answer " + answer.refusal + " " + answer.isKnown);
			}
			admission.close();
		}
	}

	/** Submits an application, and returns its report after yquota has answered. */
	private static ApplicationReport submit(YarnClient client) throws Exception {
		ApplicationSubmissionContext submission = client.createApplication().getApplicationSubmissionContext();
		ApplicationId id = submission.getApplicationId();

		submission.setApplicationName("asked for");
		submission.setQueue("default");
		submission.setUnmanagedAM(true);
		submission.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
		submission.setResource(Resource.newInstance(128, 1));
		try {
			client.submitApplication(submission);
		} catch (org.apache.hadoop.yarn.exceptions.YarnException e) {
			// the submission of a refused application fails, too
			System.err.println(e);
		}
		for (int i = 0; i < 600; i++) {
			ApplicationReport report = client.getApplicationReport(id);
			if (EnumSet.of(YarnApplicationState.ACCEPTED, YarnApplicationState.FAILED).contains(report.getYarnApplicationState())) {
				return report;
			}
			Thread.sleep(100);
		}
		throw new IllegalStateException(id + " gets no answer");
	}
}

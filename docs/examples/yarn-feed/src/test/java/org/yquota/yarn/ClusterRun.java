package org.yquota.yarn;

import java.io.File;
import java.net.ServerSocket;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.util.Records;

/**
 * A whole cluster in this process, whose ResourceManager feeds yquota: containers of all kinds
 * of lives, a node that is lost, a queue move, two restarts.
 *
 * <p>Arguments: directory, JDBC URL, file for the account.  See Caller.
 */
public final class ClusterRun {
	private static final int NODES = 4;
	private static final int PACE = 100;

	private final File directory;
	private final String accountFile;
	private final YarnConfiguration conf = new YarnConfiguration();
	private MiniYARNCluster cluster;
	private YarnClient client;
	private AMRMClient<AMRMClient.ContainerRequest> master;
	private NMClient nodes;
	private ApplicationId application;
	private final Map<ContainerId, Container> held = new LinkedHashMap<>();

	private ClusterRun(String[] arguments) throws Exception {
		directory = new File(arguments[0]);
		accountFile = arguments[2];
		conf.set(FeedConfiguration.URL, arguments[1]);
		conf.set(FeedConfiguration.SPOOL_DIRECTORY, new File(directory, "spool").getPath());
		conf.set(FeedConfiguration.SOURCE, "mini");
		conf.set(FeedConfiguration.COMPUTE_INTERVAL, "500");
		conf.set(FeedConfiguration.RECONCILE_DELAY, "15000");
		conf.set(FeedConfiguration.BATCH_MOST_RECORDS, "50");
		conf.set(FeedConfiguration.APPLICATIONS, "TELL");
		conf.set(YarnConfiguration.RM_SCHEDULER, AccountingScheduler.class.getName());
		conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
		conf.set(YarnConfiguration.RM_STORE, "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore");
		conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, new File(directory, "state").toURI().toString());
		conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
		conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
		conf.setBoolean(YarnConfiguration.OPPORTUNISTIC_CONTAINER_ALLOCATION_ENABLED, true);
		conf.setInt(YarnConfiguration.NM_OPPORTUNISTIC_CONTAINERS_MAX_QUEUE_LENGTH, 10);
		conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
		conf.setInt(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, PACE);
		conf.setInt(YarnConfiguration.NM_PMEM_MB, 4096);
		conf.setInt(YarnConfiguration.NM_VCORES, 16);
		conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
		conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
		conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING, false);
		conf.setInt(YarnConfiguration.RM_AM_MAX_ATTEMPTS, 1);
		conf.setLong(YarnConfiguration.RESOURCEMANAGER_CONNECT_RETRY_INTERVAL_MS, PACE);
		// Nodes look for the second ResourceManager where the first one was.
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_USE_RPC, true);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
		for (String address : new String[] {YarnConfiguration.RM_ADDRESS, YarnConfiguration.RM_SCHEDULER_ADDRESS,
				YarnConfiguration.RM_ADMIN_ADDRESS, YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS, YarnConfiguration.RM_WEBAPP_ADDRESS}) {
			try (ServerSocket socket = new ServerSocket(0)) {
				conf.set(address, "localhost:" + socket.getLocalPort());
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		ClusterRun run = new ClusterRun(arguments);

		UserGroupInformation.createUserForTesting("lab__alice", new String[] {"users"})
			.doAs((PrivilegedExceptionAction<Void>) () -> {
				run.run();
				return null;
			});
		System.exit(0);
	}

	private void run() throws Exception {
		startCluster();
		startMaster();
		runAndEnd(60);
		failingMaster();
		reached("the middle of the first life");
		resize();
		changeTypes();
		allocate(20, ExecutionType.GUARANTEED, 256);
		client.moveApplicationAcrossQueues(application, "batch");
		restart();
		runAndEnd(60);
		reached("the second life");
		loseNode();
		restart();
		runAndEnd(60);
		allocate(10, ExecutionType.GUARANTEED, 256);
		Thread.sleep(18_000);
		reached("containers that run");
		master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "done", null);
		for (int i = 0; i < 100 && client.getApplicationReport(application).getFinishTime() == 0; i++) {
			Thread.sleep(PACE);
		}
		Thread.sleep(10 * PACE);
		Account.instance().write(accountFile);
		reached("the end");
		nodes.stop();
		master.stop();
		client.stop();
		cluster.stop();
	}

	private void reached(String place) throws Exception {
		Account.instance().write(accountFile);
		Caller.reached(place);
	}

	private void startCluster() throws Exception {
		cluster = new MiniYARNCluster("feed", NODES, 1, 1);
		cluster.init(conf);
		cluster.start();
		if (!cluster.waitForNodeManagersToConnect(60_000)) {
			throw new IllegalStateException("nodes do not connect");
		}
		client = YarnClient.createYarnClient();
		client.init(cluster.getConfig());
		client.start();
	}

	/** This process is the application's master. */
	private void startMaster() throws Exception {
		ApplicationSubmissionContext submission = client.createApplication().getApplicationSubmissionContext();

		application = submission.getApplicationId();
		submission.setApplicationName("all kinds of lives");
		submission.setQueue("default");
		submission.setUnmanagedAM(true);
		submission.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
		submission.setResource(Resource.newInstance(128, 1));
		client.submitApplication(submission);
		await(YarnApplicationState.ACCEPTED);
		Token<AMRMTokenIdentifier> token = null;
		while (token == null) {
			Thread.sleep(PACE);
			token = client.getAMRMToken(application);
		}
		token.setService(ClientRMProxy.getAMRMTokenService(cluster.getConfig()));
		UserGroupInformation.getCurrentUser().addToken(token);
		NMTokenCache tokens = new NMTokenCache();
		master = AMRMClient.createAMRMClient();
		master.setNMTokenCache(tokens);
		master.init(cluster.getConfig());
		master.start();
		master.registerApplicationMaster("localhost", 1, "");
		nodes = NMClient.createNMClient();
		nodes.setNMTokenCache(tokens);
		nodes.cleanupRunningContainersOnStop(false);
		nodes.init(cluster.getConfig());
		nodes.start();
	}

	private ApplicationReport await(YarnApplicationState state) throws Exception {
		for (int i = 0; i < 600; i++) {
			ApplicationReport report = client.getApplicationReport(application);
			if (report.getYarnApplicationState() == state) {
				return report;
			}
			Thread.sleep(PACE);
		}
		throw new IllegalStateException("the application does not become " + state);
	}

	/** One heartbeat; returns the containers that came. */
	private List<Container> heartbeat() throws Exception {
		AllocateResponse response = master.allocate(0.5f);

		response.getAllocatedContainers().forEach(container -> held.put(container.getId(), container));
		for (UpdatedContainer updated : response.getUpdatedContainers()) {
			held.put(updated.getContainer().getId(), updated.getContainer());
		}
		for (ContainerStatus status : response.getCompletedContainersStatuses()) {
			held.remove(status.getContainerId());
		}
		Thread.sleep(PACE);
		return response.getAllocatedContainers();
	}

	private List<Container> allocate(int count, ExecutionType type, int memory) throws Exception {
		Priority priority = Priority.newInstance(type == ExecutionType.GUARANTEED ? memory : memory + 10_000);
		List<Container> got = new ArrayList<>();

		AMRMClient.ContainerRequest request = new AMRMClient.ContainerRequest(Resource.newInstance(memory, 1), null, null, priority, 0, true,
			null, ExecutionTypeRequest.newInstance(type, true));

		for (int i = 0; i < count; i++) {
			master.addContainerRequest(request);
		}
		for (int i = 0; i < 300 && got.size() < count; i++) {
			List<Container> came = heartbeat();
			came.forEach(container -> master.removeContainerRequest(request));
			got.addAll(came);
		}
		if (got.size() < count) {
			throw new IllegalStateException("only " + got.size() + " containers of " + count + " came");
		}
		return got;
	}

	private void start(Container container, String command) throws Exception {
		nodes.startContainer(container, ContainerLaunchContext.newInstance(Collections.emptyMap(), new HashMap<>(),
			Collections.singletonList(command), null, null, null));
	}

	/** Containers that are given back, end by themselves, fail, are stopped, and never start. */
	private void runAndEnd(int count) throws Exception {
		int number = 0;

		for (int wave = 0; wave < count; wave += 20) {
			for (Container container : allocate(20, ExecutionType.GUARANTEED, 256)) {
				switch (number++ % 10) {
					case 0:
						start(container, "sleep 0.2");
						break;
					case 1:
						start(container, "exit 3");
						break;
					case 2:
						start(container, "sleep 60");
						nodes.stopContainer(container.getId(), container.getNodeId());
						break;
					default:
						master.releaseAssignedContainer(container.getId());
						held.remove(container.getId());
						break;
				}
			}
			heartbeat();
		}
		for (int i = 0; i < 50; i++) {
			heartbeat();
		}
	}

	/** An application whose master comes and goes without a word. */
	private void failingMaster() throws Exception {
		ApplicationSubmissionContext submission = client.createApplication().getApplicationSubmissionContext();

		submission.setApplicationName("a master that fails");
		submission.setQueue("default");
		submission.setResource(Resource.newInstance(512, 1));
		submission.setAMContainerSpec(ContainerLaunchContext.newInstance(Collections.emptyMap(), new HashMap<>(),
			Collections.singletonList("sleep 0.3; exit 1"), null, null, null));
		ApplicationId id = client.submitApplication(submission);
		while (!EnumSet.of(YarnApplicationState.FAILED, YarnApplicationState.KILLED, YarnApplicationState.FINISHED)
				.contains(client.getApplicationReport(id).getYarnApplicationState())) {
			heartbeat();
		}
	}

	private void update(Container container, ContainerUpdateType type, Resource size, ExecutionType executionType) throws Exception {
		master.requestContainerUpdate(held.get(container.getId()), UpdateContainerRequest.newInstance(
			held.get(container.getId()).getVersion(), container.getId(), type, size, executionType));
	}

	private void resize() throws Exception {
		List<Container> containers = allocate(4, ExecutionType.GUARANTEED, 512);

		for (Container container : containers) {
			start(container, "sleep 60");
		}
		beats(10);
		update(containers.get(0), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(1024, 2), null);
		update(containers.get(1), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null);
		update(containers.get(2), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(768, 1), null);
		beats(20);
		update(containers.get(2), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(384, 1), null);
		beats(20);
		for (Container container : containers) {
			master.releaseAssignedContainer(container.getId());
			held.remove(container.getId());
		}
		beats(5);
	}

	private void changeTypes() throws Exception {
		List<Container> opportunistic = allocate(6, ExecutionType.OPPORTUNISTIC, 640);
		List<Container> guaranteed = allocate(2, ExecutionType.GUARANTEED, 384);

		for (Container container : opportunistic) {
			start(container, "sleep 60");
		}
		for (Container container : guaranteed) {
			start(container, "sleep 60");
		}
		beats(20);
		update(opportunistic.get(0), ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED);
		update(guaranteed.get(0), ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC);
		beats(20);
		for (Container container : opportunistic) {
			master.releaseAssignedContainer(container.getId());
			held.remove(container.getId());
		}
		beats(10);
	}

	private void beats(int count) throws Exception {
		for (int i = 0; i < count; i++) {
			heartbeat();
		}
	}

	private void loseNode() throws Exception {
		List<Container> containers = allocate(8, ExecutionType.GUARANTEED, 256);
		NodeId lost = containers.get(0).getNodeId();

		cluster.getResourceManager().getRMContext().getDispatcher().getEventHandler()
			.handle(new RMNodeEvent(lost, RMNodeEventType.EXPIRE));
		beats(10);
	}

	private void restart() throws Exception {
		cluster.restartResourceManager(0);
		if (!cluster.waitForNodeManagersToConnect(60_000)) {
			throw new IllegalStateException("nodes do not come back");
		}
		beats(30);
	}
}

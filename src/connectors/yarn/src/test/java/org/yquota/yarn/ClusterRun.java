package org.yquota.yarn;

import java.io.File;
import java.nio.file.Files;
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
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationTimeoutsRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NodeState;
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
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.Times;

/**
 * Runs the nodes of a cluster and an application master, with containers that start, change and end
 * in many ways. Meanwhile the ResourceManagers run in other processes, and take turns (see
 * ResourceManagerRun).
 *
 * <p>Arguments: directory, ports (see ClusterConfiguration).  See Caller.
 */
public final class ClusterRun {
	private static final int NODES = 4;
	private static final int PACE = ClusterConfiguration.PACE;

	private final File directory;
	private final YarnConfiguration conf;
	private MiniYARNCluster cluster;
	private YarnClient client;
	private AMRMClient<AMRMClient.ContainerRequest> master;
	private NMClient nodes;
	private ApplicationId application;
	/** applications without containers; one changes and the other ends while no feed runs */
	private ApplicationId changing;
	private ApplicationId ending;
	private final Map<ContainerId, Container> held = new LinkedHashMap<>();
	/** containers for which an update is requested, before the update */
	private final List<Container> updating = new ArrayList<>();
	/** containers that exist before the feed */
	private final List<Container> early = new ArrayList<>();

	private ClusterRun(String[] arguments) {
		directory = new File(arguments[0]);
		conf = ClusterConfiguration.make(directory, arguments[1]);
	}

	public static void main(String[] arguments) throws Exception {
		ClusterRun run = new ClusterRun(arguments);

		UserGroupInformation.createUserForTesting("lab__alice", new String[] {"users"})
			.doAs((PrivilegedExceptionAction<Void>) () -> {
				try {
					run.run();
				} catch (Exception e) {
					// Otherwise threads of the nodes would keep the process running.
					e.printStackTrace();
					System.exit(1);
				}
				return null;
			});
		System.exit(0);
	}

	private void run() throws Exception {
		startCluster();
		startMaster();
		changing = submit("changes unheard");
		ending = submit("ends unheard");
		await(changing, YarnApplicationState.ACCEPTED);
		await(ending, YarnApplicationState.ACCEPTED);
		change(changing, "batch", 7, inSeconds(7200));
		for (Container container : allocate(4, ExecutionType.GUARANTEED, 256)) {
			start(container, "sleep 900");
			early.add(container);
		}
		List<Container> first = crowdNodes();
		early.addAll(first);
		writeCreationTimes();
		Caller.reached("the installation of the feed");
		awaitNodes();
		release(early.get(0));
		first.forEach(this::release);
		beats(10);
		runAndEnd(60);
		failingMaster();
		Caller.reached("the middle of the first life");
		resize();
		changeTypes();
		List<Container> crowd = crowdNodes();
		allocate(12, ExecutionType.GUARANTEED, 256);
		change(application, "batch", 7, inSeconds(7200));
		submitUnmanaged();
		Caller.reached("a failover while PostgreSQL is away");
		awaitNodes();
		letRun(crowd);
		runAndEnd(60);
		Caller.reached("the second life");
		List<Container> containers = allocate(8, ExecutionType.GUARANTEED, 256);
		for (Container container : containers) {
			start(container, "sleep 900");
		}
		beats(10);
		Caller.reached("lose " + containers.get(0).getNodeId());
		beats(30);
		awaitNodes();
		runAndEnd(60);
		allocate(10, ExecutionType.GUARANTEED, 256);
		Caller.reached("a handover");
		awaitNodes();
		runAndEnd(60);
		for (Container container : allocate(10, ExecutionType.GUARANTEED, 256)) {
			start(container, "sleep 900");
		}
		allocate(10, ExecutionType.GUARANTEED, 256);
		Caller.reached("a restart without the feed");
		awaitNodes();
		long expiry = inSeconds(10_800);
		change(changing, "default", 3, expiry);
		client.killApplication(ending);
		await(ending, YarnApplicationState.KILLED);
		Caller.reached("a restart, expiry " + expiry);
		awaitNodes();
		runAndEnd(60);
		allocate(10, ExecutionType.GUARANTEED, 256);
		Caller.reached("containers that run");
		client.killApplication(changing);
		master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "done", null);
		for (int i = 0; i < 100 && client.getApplicationReport(application).getFinishTime() == 0; i++) {
			Thread.sleep(PACE);
		}
		Thread.sleep(10 * PACE);
		Caller.reached("the end");
		nodes.stop();
		master.stop();
		client.stop();
		cluster.stop();
	}

	/** Writes the creation times that nodes report. */
	private void writeCreationTimes() throws Exception {
		List<String> lines = new ArrayList<>();

		for (Container container : early) {
			lines.add(container.getId() + " " + BuilderUtils.newContainerTokenIdentifier(container.getContainerToken()).getCreationTime());
		}
		Files.write(new File(directory, "creation-times").toPath(), lines);
	}

	private void startCluster() throws Exception {
		cluster = new MiniYARNCluster("feed", 0, NODES, 1, 1) {
			@Override
			public boolean waitForNodeManagersToConnect(long timeout) {
				// The inherited method would ask a ResourceManager in this process.
				return true;
			}
		};
		cluster.init(conf);
		cluster.start();
		client = YarnClient.createYarnClient();
		client.init(conf);
		client.start();
		awaitNodes();
	}

	private void awaitNodes() throws Exception {
		for (int i = 0; i < 600; i++) {
			if (client.getNodeReports(NodeState.RUNNING).size() == NODES) {
				beatsWhereRegistered(30);
				return;
			}
			Thread.sleep(PACE);
		}
		throw new IllegalStateException("nodes do not connect");
	}

	private void beatsWhereRegistered(int count) throws Exception {
		if (master != null) {
			beats(count);
		}
	}

	private static long inSeconds(int seconds) {
		return System.currentTimeMillis() + 1000L * seconds;
	}

	private void change(ApplicationId id, String queue, int priority, long expiry) throws Exception {
		client.moveApplicationAcrossQueues(id, queue);
		client.updateApplicationPriority(id, Priority.newInstance(priority));
		client.updateApplicationTimeouts(UpdateApplicationTimeoutsRequest.newInstance(id,
			Collections.singletonMap(ApplicationTimeoutType.LIFETIME, Times.formatISO8601(expiry))));
	}

	/** Submits an application while yquota does not answer, and kills it soon. */
	private void submitUnmanaged() throws Exception {
		ApplicationId id = submit("while nothing answers");

		await(id, YarnApplicationState.ACCEPTED);
		client.killApplication(id);
		await(id, YarnApplicationState.KILLED);
	}

	/** Starts opportunistic containers so large that a node can run only one at a time, so that the others wait. */
	private List<Container> crowdNodes() throws Exception {
		List<Container> containers = allocate(8, ExecutionType.OPPORTUNISTIC, 2560);

		for (Container container : containers) {
			start(container, "sleep 600");
		}
		beats(10);
		return containers;
	}

	private void release(Container container) {
		master.releaseAssignedContainer(container.getId());
		held.remove(container.getId());
	}

	/**
	 * Releases the containers one by one, so that containers that waited while the ResourceManager was away begin to
	 * run.
	 */
	private void letRun(List<Container> crowd) throws Exception {
		for (Container container : crowd) {
			beats(10);
			release(container);
		}
		beats(10);
	}

	/** Makes this process the application's master. */
	private void startMaster() throws Exception {
		application = submit("all kinds of lives");
		await(application, YarnApplicationState.ACCEPTED);
		Token<AMRMTokenIdentifier> token = null;
		while (token == null) {
			Thread.sleep(PACE);
			token = client.getAMRMToken(application);
		}
		token.setService(ClientRMProxy.getAMRMTokenService(conf));
		UserGroupInformation.getCurrentUser().addToken(token);
		NMTokenCache tokens = new NMTokenCache();
		master = AMRMClient.createAMRMClient();
		master.setNMTokenCache(tokens);
		master.init(conf);
		master.start();
		master.registerApplicationMaster("localhost", 1, "");
		nodes = NMClient.createNMClient();
		nodes.setNMTokenCache(tokens);
		nodes.cleanupRunningContainersOnStop(false);
		nodes.init(conf);
		nodes.start();
	}

	private ApplicationId submit(String name) throws Exception {
		ApplicationSubmissionContext submission = client.createApplication().getApplicationSubmissionContext();

		submission.setApplicationName(name);
		submission.setQueue("default");
		submission.setUnmanagedAM(true);
		submission.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
		submission.setResource(Resource.newInstance(128, 1));
		submission.setApplicationTimeouts(Collections.singletonMap(ApplicationTimeoutType.LIFETIME, 3600L));
		return client.submitApplication(submission);
	}

	private ApplicationReport await(ApplicationId id, YarnApplicationState state) throws Exception {
		for (int i = 0; i < 600; i++) {
			ApplicationReport report = client.getApplicationReport(id);
			if (report.getYarnApplicationState() == state) {
				return report;
			}
			Thread.sleep(PACE);
		}
		throw new IllegalStateException("the application does not become " + state);
	}

	/** Performs a heartbeat, and returns the allocated containers. */
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
		for (int i = 0; i < 1200 && got.size() < count; i++) {
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

	/**
	 * Runs containers that end by themselves, fail, or are stopped, and containers that are released without a start.
	 */
	private void runAndEnd(int count) throws Exception {
		List<ContainerId> ended = new ArrayList<>();
		int number = 0;

		for (int wave = 0; wave < count; wave += 20) {
			for (Container container : allocate(20, ExecutionType.GUARANTEED, 256)) {
				switch (number++ % 10) {
					case 0:
						start(container, "sleep 0.2");
						ended.add(container.getId());
						break;
					case 1:
						start(container, "exit 3");
						ended.add(container.getId());
						break;
					case 2:
						start(container, "sleep 60");
						ended.add(container.getId());
						nodes.stopContainer(container.getId(), container.getNodeId());
						break;
					default:
						release(container);
						break;
				}
			}
			heartbeat();
		}
		beats(50);
		for (int i = 0; i < 1200 && !Collections.disjoint(held.keySet(), ended); i++) {
			heartbeat();
		}
		if (!Collections.disjoint(held.keySet(), ended)) {
			throw new IllegalStateException("containers do not end");
		}
	}

	/** Runs an application whose master fails without registering. */
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
		Container now = held.get(container.getId());

		master.requestContainerUpdate(now, UpdateContainerRequest.newInstance(now.getVersion(), now.getId(), type, size, executionType));
		updating.add(now);
	}

	private void awaitUpdates() throws Exception {
		for (int i = 0; i < 600 && !updating.isEmpty(); i++) {
			heartbeat();
			updating.removeIf(container -> held.get(container.getId()).getVersion() > container.getVersion());
		}
		if (!updating.isEmpty()) {
			throw new IllegalStateException("updates do not come: " + updating);
		}
	}

	private void resize() throws Exception {
		List<Container> containers = allocate(4, ExecutionType.GUARANTEED, 512);

		for (Container container : containers) {
			start(container, "sleep 900");
		}
		beats(10);
		update(containers.get(0), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(1024, 2), null);
		update(containers.get(1), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null);
		update(containers.get(2), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(768, 1), null);
		awaitUpdates();
		update(containers.get(2), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(384, 1), null);
		awaitUpdates();
		for (Container container : containers) {
			release(container);
		}
		beats(5);
	}

	private void changeTypes() throws Exception {
		List<Container> opportunistic = allocate(6, ExecutionType.OPPORTUNISTIC, 640);
		List<Container> guaranteed = allocate(2, ExecutionType.GUARANTEED, 384);

		List<Container> containers = new ArrayList<>(opportunistic);

		containers.addAll(guaranteed);
		for (Container container : containers) {
			start(container, "sleep 900");
		}
		beats(20);
		update(opportunistic.get(0), ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED);
		update(guaranteed.get(0), ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC);
		awaitUpdates();
		for (Container container : containers) {
			release(container);
		}
		beats(10);
	}

	private void beats(int count) throws Exception {
		for (int i = 0; i < count; i++) {
			heartbeat();
		}
	}
}

package org.yquota.yarn;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;

import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * What the ResourceManager's own objects say of every container, kept beside the feed: lines
 * of a file, with times in milliseconds.
 *
 * <pre>
 * container ID STARTED FINISHED MEMORY VCORES TYPE IS_MASTER EXIT_STATUS
 *     FINISHED is 0 while it runs, and when a restart has lost it: it was not at its node yet
 * update ID BEFORE AFTER MEMORY VCORES TYPE           made at some time between the two
 * </pre>
 */
final class Account {
	private static final Account INSTANCE = new Account();

	private final Map<String, RMContainer> containers = new ConcurrentSkipListMap<>();
	private final Map<String, Resource> sizes = new ConcurrentSkipListMap<>();
	private final Map<String, String> types = new ConcurrentSkipListMap<>();
	private final ConcurrentLinkedQueue<String> updates = new ConcurrentLinkedQueue<>();

	static Account instance() {
		return INSTANCE;
	}

	void allocated(RMContainer container) {
		String id = container.getContainerId().toString();

		if (container.getAllocatedSchedulerKey().getContainerToUpdate() == null && containers.put(id, container) == null) {
			sizes.put(id, Resource.newInstance(container.getAllocatedResource()));
			types.put(id, container.getExecutionType().name());
		}
	}

	/** After a restart the ResourceManager has another object for the container. */
	void finished(RMContainer container) {
		containers.replace(container.getContainerId().toString(), container);
	}

	void updated(Container container, long before, long after) {
		updates.add(String.format("update %s %d %d %d %d %s", container.getId(), before, after, container.getResource().getMemorySize(),
			container.getResource().getVirtualCores(), container.getExecutionType()));
	}

	void write(String file) throws IOException {
		try (PrintWriter writer = new PrintWriter(file, "UTF-8")) {
			containers.forEach((id, container) -> writer.printf("container %s %d %d %d %d %s %s %d%n", id, container.getCreationTime(),
				container.getFinishTime(), sizes.get(id).getMemorySize(), sizes.get(id).getVirtualCores(), types.get(id),
				container.isAMContainer(), container.getContainerExitStatus()));
			updates.forEach(writer::println);
		}
	}
}

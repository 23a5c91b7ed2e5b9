package org.yquota.yarn;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes records from the ResourceManager's threads, and never makes these threads wait. Records go
 * into a bounded queue, from there to the spool, and from the spool to the database.
 *
 * <p>If the queue is full, or the spool has reached its size, a record is lost. The feed counts
 * lost records and logs an error. When there is room again, it compares the running containers with
 * those of yquota.
 */
final class Feed {
	private static final Logger LOG = LoggerFactory.getLogger(Feed.class);
	private static final int MOST_AT_A_TIME = 10_000;
	/** how long a record may take to reach the queue */
	private static final long SETTLING_TIME = 1000;

	/** Requests of the feed to its ResourceManager. */
	interface Manager {
		/** Returns the running containers as an argument of yquota.reconcile(). */
		String runningContainers(long asOf);

		/** Reports changes for which the ResourceManager calls no method. */
		default void lookAround() {
		}

		/** Reports the applications that yquota may lack; if records were lost, reports all applications. */
		default void compare(boolean hasGap) {
		}
	}

	private final FeedConfiguration conf;
	private Manager manager;
	private final BlockingQueue<String> queue;
	private final AtomicLong lost = new AtomicLong();
	private final Spool spool;
	private final Sender sender;
	private final Thread spooling;
	private final Thread sending;
	private final File aliveFile;
	private final File reconcileFile;
	/** the last time at which an earlier process with this spool was alive, in milliseconds; null if there was none */
	private final Long lastAlive;
	private volatile boolean isStopping;
	private long nextCompute;
	private long nextReconcile;
	/** before this time, some nodes may not have registered again */
	private long firstReconcile;
	/** whether records were lost since the last comparison */
	private boolean hasGap;

	/** Opens the spool. Its records are sent even while this ResourceManager is on standby. */
	Feed(FeedConfiguration conf) throws IOException {
		this.conf = conf;
		queue = new ArrayBlockingQueue<>(conf.queueMostRecords);
		spool = new Spool(conf.spoolDirectory, conf.spoolMostBytes);
		sender = new Sender(conf, spool);
		aliveFile = new File(conf.spoolDirectory, "alive");
		reconcileFile = new File(conf.spoolDirectory, "reconcile");
		spooling = new Thread(this::spool, "yquota feed, spooling");
		spooling.setDaemon(true);
		sending = new Thread(sender, "yquota feed, sending");
		sending.setDaemon(true);
		lastAlive = lastAlive();
		if (lastAlive != null && !spool.isEmpty()) {
			// The other ResourceManager of a pair may have taken over before the records in this spool were sent.
			spool.append(Records.alive(conf.source, lastAlive));
		}
		sending.start();
	}

	/** Starts the feed of a ResourceManager that becomes active at the time "now", in milliseconds. */
	void start(long now, Manager asked) {
		manager = asked;
		tell(Records.recovery(conf.source, lastAlive, now));
		nextCompute = now;
		firstReconcile = now + conf.reconcileDelay;
		nextReconcile = firstReconcile;
		spooling.start();
		LOG.info("Started with the spool {}", conf.spoolDirectory);
	}

	/** Returns whether no earlier process has used this spool. */
	boolean isFirst() {
		return lastAlive == null;
	}

	/** Puts a record into the queue. Never waits, and never fails. */
	void tell(String record) {
		if (!queue.offer(record) && lost.getAndIncrement() == 0) {
			LOG.error("The queue of {} records is full; records are lost", conf.queueMostRecords);
		}
	}

	/** Writes the records of the queue to the spool. The feed sends unsent records after its next start. */
	void stop() {
		isStopping = true;
		try {
			spooling.join(TimeUnit.SECONDS.toMillis(10));
			sender.stop();
			sending.interrupt();
			sending.join(TimeUnit.SECONDS.toMillis(10));
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
		try {
			spool.close();
		} catch (IOException e) {
			LOG.error("Cannot close the spool {}", conf.spoolDirectory, e);
		}
		LOG.info("Stopped");
	}

	private void spool() {
		List<String> records = new ArrayList<>();

		while (!isStopping || !queue.isEmpty()) {
			try {
				String first = queue.poll(100, TimeUnit.MILLISECONDS);
				if (first != null) {
					records.add(first);
					queue.drainTo(records, MOST_AT_A_TIME - 1);
					append(records);
				}
				if (!isStopping) {
					doWhatIsDue(System.currentTimeMillis());
				}
			} catch (InterruptedException e) {
				isStopping = true;
			} catch (IOException e) {
				lost.addAndGet(records.size());
				LOG.error("Cannot write to the spool {}; {} records are lost", conf.spoolDirectory, records.size(), e);
			} catch (RuntimeException e) {
				LOG.error("The feed failed to spool", e);
			}
			records.clear();
		}
		try {
			long now = System.currentTimeMillis();
			append(Collections.singletonList(Records.compute(conf.source, now)));
			writeAlive(now);
		} catch (IOException e) {
			LOG.error("Cannot write to the spool {}", conf.spoolDirectory, e);
		}
	}

	private void append(List<String> records) throws IOException {
		if (!spool.hasRoom()) {
			if (lost.getAndAdd(records.size()) == 0) {
				LOG.error("The spool {} has {} MB; records are lost", conf.spoolDirectory, conf.spoolMostBytes >> 20);
			}
			return;
		}
		spool.append(String.join("", records));
		long count = lost.getAndSet(0);
		if (count > 0) {
			LOG.error("{} records are lost; the containers that run are compared with yquota's", count);
			nextReconcile = Math.max(System.currentTimeMillis(), firstReconcile);
			hasGap = true;
		}
	}

	private void doWhatIsDue(long now) throws IOException, InterruptedException {
		if (now >= nextCompute) {
			manager.lookAround();
			append(Collections.singletonList(Records.compute(conf.source, now)));
			writeAlive(now);
			nextCompute = now + conf.computeInterval;
		}
		if (now >= nextReconcile || isComparisonWanted(now)) {
			nextReconcile = now + conf.reconcileInterval;
			Files.deleteIfExists(reconcileFile.toPath());
			// A container that was just allocated may not be in the list yet.
			long asOf = now - SETTLING_TIME;
			String list = manager.runningContainers(asOf);
			// A container that has just ended is not in the list. Its FINISH must come before the list.
			Thread.sleep(SETTLING_TIME);
			// Containers that are not in the list have not survived the restart, unless records of their ends were
			// lost.
			tell(Records.reconcile(list, asOf, hasGap ? null : conf.source));
			manager.compare(hasGap);
			hasGap = false;
		}
	}

	/** Returns whether the file asks for a comparison now. An empty file waits until nodes have registered again. */
	private boolean isComparisonWanted(long now) throws IOException {
		return reconcileFile.exists()
			&& (now >= firstReconcile || new String(Files.readAllBytes(reconcileFile.toPath()), StandardCharsets.UTF_8).trim().equals("now"));
	}

	private Long lastAlive() throws IOException {
		Long told = spool.lastEventTime();
		Long written = null;

		try {
			if (aliveFile.exists()) {
				written = Long.valueOf(new String(Files.readAllBytes(aliveFile.toPath()), StandardCharsets.UTF_8).trim());
			}
		} catch (IOException | NumberFormatException e) {
			LOG.error("Cannot read {}", aliveFile, e);
		}
		return told == null || written != null && written > told ? written : told;
	}

	private void writeAlive(long now) throws IOException {
		File fresh = new File(conf.spoolDirectory, "alive.new");

		Files.write(fresh.toPath(), (now + "\n").getBytes(StandardCharsets.UTF_8));
		Files.move(fresh.toPath(), aliveFile.toPath(), java.nio.file.StandardCopyOption.ATOMIC_MOVE,
			java.nio.file.StandardCopyOption.REPLACE_EXISTING);
	}
}

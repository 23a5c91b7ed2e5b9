package org.yquota.yarn;

import java.io.File;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLWarning;
import org.postgresql.util.ServerErrorMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the records of the spool to the database, in their order: batches of events by COPY, and
 * each other record by a call.
 *
 * <p>If the database is away, or fails for a temporary reason, the sender tries again after growing pauses. It does the
 * same if an administrator has to repair something, and reports that problem. If the server can read a bad event, the
 * server sets the event aside itself. A call puts other records that the server will never accept into
 * {@code yquota.feed_reject}. If the server refuses this call, the record goes to the file {@code refused} of the
 * spool. If the answer to a batch is lost, the sender sends the batch again, which is harmless.
 */
final class Sender implements Runnable {
	private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
	private static final int STATEMENT_TIMEOUT = 60_000;
	private static final long LONGEST_PAUSE = 10_000;
	private static final String COPY = "COPY yquota.container_event (" + Records.EVENT_COLUMNS + ") FROM STDIN";

	/**
	 * Kinds of records that the next ResourceManager reports again, perhaps with other values. It may already have done
	 * so.
	 */
	private static final Set<String> SUPERSEDED = new HashSet<>(
		Arrays.asList(Records.APPLICATION_MOVE, Records.APPLICATION_PRIORITY, Records.APPLICATION_LIFETIME));

	/** Statements for records that are not events. Parameters are text. */
	private static final Map<String, String> CALLS = new HashMap<>();

	static {
		CALLS.put(Records.RECOVERY, "SELECT yquota.report_recovery(?, ?::timestamptz, ?::timestamptz)");
		CALLS.put(Records.ALIVE, "SELECT yquota.report_recovery(?, ?::timestamptz)");
		CALLS.put(Records.RECOVERED, "SELECT yquota.recover_containers(?, ?::jsonb, ?::timestamptz)");
		CALLS.put(Records.RECONCILE, "SELECT * FROM yquota.reconcile(?::jsonb, ?::timestamptz, false, ?)");
		CALLS.put(Records.NODE, "SELECT yquota.register_node(?, ?::yquota.resource, ?, ?, ?::timestamptz)");
		CALLS.put(Records.NODE_LOST, "SELECT * FROM yquota.node_lost(?, ?::timestamptz)");
		// yquota may already have the application, from a call whose answer was lost or from another ResourceManager.
		CALLS.put(Records.APPLICATION, "SELECT CASE WHEN NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = p.id)"
			+ " THEN (" + Records.SUBMISSION + ").state END FROM " + Records.SUBMISSION_VALUES);
		CALLS.put(Records.APPLICATION_END, "SELECT yquota.finish_application(?, ?::yquota.application_state, ?)");
		CALLS.put(Records.APPLICATIONS_ENDED, "SELECT yquota.finish_application(a.application_id, p.state::yquota.application_state)"
			+ " FROM jsonb_to_recordset(?::jsonb) AS p (application_id text, state text)"
			+ " JOIN yquota.application AS a USING (application_id) WHERE a.finished_at IS NULL");
		// A ResourceManager that takes over may report known facts. An application that moves to a plan is in a queue
		// of the plan.
		CALLS.put(Records.APPLICATION_MOVE, change("yquota.move_application(p.id, p.queue)", "queue",
			"a.queue = p.queue OR starts_with(a.queue, p.queue || '.')"));
		CALLS.put(Records.APPLICATION_PRIORITY, change("yquota.update_application_priority(p.id, p.priority::integer)", "priority",
			"a.priority = p.priority::integer"));
		CALLS.put(Records.APPLICATION_LIFETIME, change("yquota.update_application_lifetime(p.id, " + Records.SECONDS_LEFT + ")", "expires",
			"abs(extract(epoch FROM a.expires_at - p.expires::timestamptz)) < 1"));
	}

	/**
	 * Returns a statement that changes an application, unless the application has ended or yquota already has the
	 * change.
	 */
	private static String change(String call, String value, String isKnown) {
		return "SELECT " + call + " FROM (VALUES (?, ?)) AS p (id, " + value + ") WHERE NOT EXISTS (SELECT FROM yquota.application AS a"
			+ " WHERE a.application_id = p.id AND (a.finished_at IS NOT NULL OR " + isKnown + "))";
	}

	private final FeedConfiguration conf;
	private final Spool spool;
	private volatile boolean isStopping;
	private Connection connection;
	private long pause;
	/** whether yquota may show a problem of this feed, which an earlier process may have reported */
	private boolean mayHaveProblem = true;

	Sender(FeedConfiguration conf, Spool spool) {
		this.conf = conf;
		this.spool = spool;
	}

	void stop() {
		isStopping = true;
	}

	@Override
	public void run() {
		while (!isStopping) {
			try {
				List<String> records = spool.read(conf.batchMostRecords, 1000);
				if (!records.isEmpty()) {
					sendFirst(records);
					pause = 0;
					if (mayHaveProblem) {
						reportProblem(null, null);
						mayHaveProblem = false;
					}
				}
			} catch (SQLException e) {
				disconnect();
				if (Verdict.of(e) == Verdict.WAIT) {
					LOG.error("The feed waits for an administrator, SQLSTATE {}: {}", e.getSQLState(), e.getMessage());
					tryToReport(e);
				} else {
					LOG.warn("The database does not take events now, SQLSTATE {}: {}", e.getSQLState(), e.getMessage());
				}
				waitLonger();
			} catch (IOException | RuntimeException e) {
				LOG.error("The feed failed to send", e);
				disconnect();
				waitLonger();
			} catch (InterruptedException e) {
				break;
			}
		}
		disconnect();
	}

	/** Sends the records of one statement: all events at the beginning of the list, or the first record. */
	private void sendFirst(List<String> records) throws SQLException, IOException {
		int count = 0;

		while (count < records.size() && isEvent(records.get(count))) {
			count++;
		}
		List<String> batch = records.subList(0, Math.max(count, 1));
		if (count > 0 || !SUPERSEDED.contains(kindOf(records.get(0))) || !spool.wasThere()) {
			send(batch);
		}
		spool.taken(batch.size());
	}

	private static boolean isEvent(String record) {
		return record.startsWith(Records.EVENT + "\t");
	}

	/** Sends records. If the server refuses them, halves the list until the refused record is alone. */
	private void send(List<String> records) throws SQLException, IOException {
		try {
			if (isEvent(records.get(0))) {
				copy(records);
			} else {
				call(records.get(0));
			}
		} catch (SQLException e) {
			if (connection == null || Verdict.of(e) == Verdict.RETRY) {
				throw e;
			}
			connection.rollback();
			if (Verdict.of(e) == Verdict.WAIT && !isAboutUser(records.get(0), e)) {
				throw e;
			}
			if (records.size() == 1) {
				setAside(records.get(0), e);
			} else {
				send(records.subList(0, records.size() / 2));
				send(records.subList(records.size() / 2, records.size()));
			}
		}
	}

	/**
	 * Returns whether error 42501 is about the user of the application. It is not about the feed if the feed may call
	 * the function.
	 */
	private boolean isAboutUser(String record, SQLException e) throws SQLException {
		String function = record.startsWith(Records.APPLICATION_MOVE + "\t") ? "yquota.move_application(text,text,text,text[])"
			: record.startsWith(Records.APPLICATION_PRIORITY + "\t") ? "yquota.update_application_priority(text,integer,text,text[])" : null;

		if (function == null || !"42501".equals(e.getSQLState())) {
			return false;
		}
		try (PreparedStatement statement = connection.prepareStatement("SELECT has_function_privilege(?, 'EXECUTE')")) {
			statement.setString(1, function);
			try (ResultSet answer = statement.executeQuery()) {
				return answer.next() && answer.getBoolean(1);
			}
		}
	}

	private void setAside(String record, SQLException e) throws SQLException, IOException {
		LOG.error("The database refused a record, SQLSTATE {}: {}: {}", e.getSQLState(), e.getMessage(), record);
		ServerErrorMessage said = e instanceof PSQLException ? ((PSQLException) e).getServerErrorMessage() : null;
		try (PreparedStatement statement = connection.prepareStatement("SELECT yquota.reject_call(?, ?::jsonb, ?, ?, ?)")) {
			statement.setString(1, conf.source);
			statement.setString(2, Records.call(record, CALLS.get(kindOf(record))));
			statement.setString(3, e.getSQLState());
			statement.setString(4, said == null ? e.getMessage() : said.getMessage());
			statement.setString(5, said == null ? null : said.getDetail());
			statement.execute();
			connection.commit();
		} catch (SQLException again) {
			if (Verdict.of(again) != Verdict.SET_ASIDE) {
				throw again;
			}
			connection.rollback();
			keepRefused(record, e);
		}
	}

	/** Reports a problem. A state of null reports that the feed continues. */
	private void reportProblem(String state, String message) throws SQLException {
		connect();
		try (PreparedStatement statement = connection.prepareStatement("SELECT yquota.report_feed_problem(?, ?, ?)")) {
			statement.setString(1, conf.source);
			statement.setString(2, state);
			statement.setString(3, message);
			statement.execute();
		}
		connection.commit();
	}

	private void tryToReport(SQLException problem) {
		try {
			reportProblem(problem.getSQLState(), problem.getMessage());
			mayHaveProblem = true;
		} catch (SQLException e) {
			LOG.debug("Cannot report the problem", e);
			disconnect();
		}
	}

	private void copy(List<String> records) throws SQLException, IOException {
		StringBuilder rows = new StringBuilder();

		for (String record : records) {
			rows.append(record, Records.EVENT.length() + 1, record.length()).append('\n');
		}
		begin();
		connection.unwrap(PGConnection.class).getCopyAPI().copyIn(COPY, new StringReader(rows.toString()));
		logWarnings(connection.getWarnings());
		connection.clearWarnings();
		connection.commit();
	}

	private void call(String record) throws SQLException {
		String kind = kindOf(record);
		String[] values = Records.values(record);

		begin();
		if (!CALLS.containsKey(kind)) {
			throw new SQLException("record of an unknown kind", "22023");
		}
		try (PreparedStatement statement = connection.prepareStatement(CALLS.get(kind))) {
			for (int i = 0; i < values.length; i++) {
				statement.setString(i + 1, values[i]);
			}
			statement.execute();
			logWarnings(statement.getWarnings());
		}
		connection.commit();
	}

	/** Logs the warnings about rows that the server has set aside. */
	private static void logWarnings(SQLWarning first) {
		for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
			LOG.warn("{}", warning instanceof PSQLWarning ? ((PSQLWarning) warning).getServerErrorMessage() : warning.getMessage());
		}
	}

	private static String kindOf(String record) {
		return record.substring(0, Math.max(record.indexOf('\t'), 0));
	}

	private void keepRefused(String record, SQLException e) throws IOException {
		String line = e.getSQLState() + "\t" + e.getMessage().replace('\n', ' ') + "\t" + record + "\n";

		Files.write(new File(conf.spoolDirectory, "refused").toPath(), Collections.singleton(line.trim()), StandardCharsets.UTF_8,
			StandardOpenOption.CREATE, StandardOpenOption.APPEND);
	}

	private void connect() throws SQLException {
		if (connection == null) {
			connection = DriverManager.getConnection(conf.url, conf.connectionProperties(STATEMENT_TIMEOUT));
			connection.setAutoCommit(false);
			LOG.info("Connected to {}", conf.url);
		}
	}

	/** Begins a transaction in which a bad event stops no other event, even of the same list. */
	private void begin() throws SQLException {
		connect();
		try (Statement setting = connection.createStatement()) {
			setting.execute("SET LOCAL yquota.on_bad_event = set_aside");
		}
	}

	private void disconnect() {
		if (connection != null) {
			try {
				connection.close();
			} catch (SQLException e) {
				LOG.debug("Cannot close the connection", e);
			}
			connection = null;
		}
	}

	private void waitLonger() {
		pause = Math.min(LONGEST_PAUSE, Math.max(100, 2 * pause));
		try {
			Thread.sleep(pause);
		} catch (InterruptedException e) {
			isStopping = true;
		}
	}
}

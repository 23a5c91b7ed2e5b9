package org.yquota.yarn;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Keeps records on disk that the database has not accepted yet. Records are lines of text. One
 * thread appends to the files, and another thread reads them.
 *
 * <p>The directory has three kinds of files. {@code records-N} have the records, with ascending
 * numbers. {@code position} has the file and offset of the first record that is not accepted yet.
 * {@code lock} is locked while a spool is open. A file is removed when all its records are
 * accepted. When {@link #append} returns, the appended records are on disk. If a process was killed
 * while it wrote a line, the incomplete line is cut off. When the unaccepted records have reached
 * the configured size, nothing more is appended, so the oldest records are kept. The files may have
 * up to 16 MB more of accepted records.
 */
final class Spool implements Closeable {
	private static final long FILE_SIZE = 16 << 20;
	private static final String NAME = "records-";

	private final File directory;
	private final long mostBytes;
	private final RandomAccessFile lockFile;
	private final FileLock lock;
	private final TreeSet<Long> numbers = new TreeSet<>();
	private FileChannel end;
	/** of all files */
	private long bytes;
	private long positionNumber;
	private long positionOffset;
	/** file and offset of the end when the spool was opened */
	private long openedNumber;
	private long openedOffset;
	private RandomAccessFile reader;
	private long readerNumber = -1;
	/** file and offset of the next record to read */
	private long readNumber;
	private long readOffset;
	/** file and offset of the end of each record that read() returned last */
	private final List<long[]> ends = new ArrayList<>();

	Spool(File directory, long mostBytes) throws IOException {
		this.directory = directory;
		this.mostBytes = mostBytes;
		Files.createDirectories(directory.toPath());
		lockFile = new RandomAccessFile(new File(directory, "lock"), "rw");
		lock = tryLock();
		if (lock == null) {
			lockFile.close();
			throw new IOException("another process uses the spool " + directory);
		}
		open();
	}

	private FileLock tryLock() throws IOException {
		try {
			return lockFile.getChannel().tryLock();
		} catch (OverlappingFileLockException e) {
			return null;
		}
	}

	private void open() throws IOException {
		String[] names = directory.list();

		if (names == null) {
			throw new IOException("cannot read the directory " + directory);
		}
		for (String name : names) {
			if (name.matches(NAME + "[0-9]{1,18}")) {
				numbers.add(Long.parseLong(name.substring(NAME.length())));
			}
		}
		File position = new File(directory, "position");
		if (position.exists()) {
			String[] parts = new String(Files.readAllBytes(position.toPath()), StandardCharsets.UTF_8).trim().split(" ");
			positionNumber = Long.parseLong(parts[0]);
			positionOffset = Long.parseLong(parts[1]);
		} else {
			positionNumber = numbers.isEmpty() ? 1 : numbers.first();
		}
		if (numbers.isEmpty() || numbers.last() < positionNumber) {
			numbers.add(positionNumber);
			positionOffset = 0;
		}
		removeTaken();
		for (long number : numbers) {
			bytes += file(number).length();
		}
		end = openEnd(file(numbers.last()));
		openedNumber = numbers.last();
		openedOffset = end.position();
		readNumber = positionNumber;
		readOffset = positionOffset;
	}

	private FileChannel openEnd(File last) throws IOException {
		FileChannel channel = FileChannel.open(last.toPath(), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
		long whole = endOfLines(last);

		bytes -= channel.size() - whole;
		channel.truncate(whole);
		channel.position(whole);
		return channel;
	}

	/** The length of a file up to its last line end. */
	private static long endOfLines(File file) throws IOException {
		try (RandomAccessFile bytes = new RandomAccessFile(file, "r")) {
			for (long at = bytes.length(); at > 0; at--) {
				bytes.seek(at - 1);
				if (bytes.read() == '\n') {
					return at;
				}
			}
			return 0;
		}
	}

	private File file(long number) {
		return new File(directory, NAME + number);
	}

	/** Returns whether more records may be appended. */
	synchronized boolean hasRoom() {
		return bytes - positionOffset < mostBytes;
	}

	/** Returns whether all records are accepted. */
	synchronized boolean isEmpty() {
		return bytes == positionOffset;
	}

	/**
	 * Returns the time of the newest event in the last file, accepted or not, in milliseconds; null if there is none.
	 */
	Long lastEventTime() throws IOException {
		Long last = null;

		try (BufferedReader lines = new BufferedReader(new InputStreamReader(
				Files.newInputStream(file(numbers.last()).toPath()), StandardCharsets.UTF_8))) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				Long time = Records.eventTime(line);
				if (time != null && (last == null || time > last)) {
					last = time;
				}
			}
		}
		return last;
	}

	/** Appends records. Each record is a line with its line end. */
	void append(String records) throws IOException {
		ByteBuffer buffer = StandardCharsets.UTF_8.encode(records);
		int size = buffer.remaining();

		if (end.position() >= FILE_SIZE) {
			long number = numbers.last() + 1;
			// If the disk has no room for the file, the next attempt begins here again.
			FileChannel fresh = openEnd(file(number));
			end.close();
			end = fresh;
			synchronized (this) {
				numbers.add(number);
			}
		}
		long start = end.position();
		try {
			while (buffer.hasRemaining()) {
				end.write(buffer);
			}
			end.force(false);
		} catch (IOException e) {
			end.truncate(start);
			throw e;
		}
		synchronized (this) {
			bytes += size;
			notifyAll();
		}
	}

	/**
	 * Returns the first records that are not accepted yet, without their line ends. Waits up to
	 * "wait" milliseconds if there are none. Returns the same records again until taken() is
	 * called.
	 */
	List<String> read(int most, long wait) throws IOException, InterruptedException {
		List<String> records = readFrom(most);

		if (records.isEmpty()) {
			synchronized (this) {
				wait(wait);
			}
			records = readFrom(most);
		}
		return records;
	}

	private List<String> readFrom(int most) throws IOException {
		List<String> records = new ArrayList<>();

		ends.clear();
		readNumber = positionNumber;
		readOffset = positionOffset;
		while (records.size() < most) {
			if (readerNumber != readNumber) {
				if (reader != null) {
					reader.close();
				}
				reader = new RandomAccessFile(file(readNumber), "r");
				readerNumber = readNumber;
			}
			// No record is appended to a file after the next file exists.
			Long next;
			synchronized (this) {
				next = numbers.higher(readNumber);
			}
			reader.seek(readOffset);
			if (!readLines(records, most)) {
				if (next == null) {
					break;
				}
				readNumber = next;
				readOffset = 0;
			}
		}
		return records;
	}

	/** Reads whole lines of the file. Returns false at the end of the file. */
	private boolean readLines(List<String> records, int most) throws IOException {
		byte[] block = new byte[1 << 16];
		java.io.ByteArrayOutputStream line = new java.io.ByteArrayOutputStream();

		while (true) {
			int count = reader.read(block);
			if (count <= 0) {
				return false;
			}
			int start = 0;
			for (int i = 0; i < count; i++) {
				if (block[i] == '\n') {
					line.write(block, start, i - start);
					records.add(new String(line.toByteArray(), StandardCharsets.UTF_8));
					readOffset += line.size() + 1;
					ends.add(new long[] {readNumber, readOffset});
					line.reset();
					start = i + 1;
					if (records.size() == most) {
						return true;
					}
				}
			}
			line.write(block, start, count - start);
		}
	}

	/** Returns whether an earlier process wrote the first record that read() has returned. */
	boolean wasThere() {
		long[] first = ends.get(0);

		return first[0] < openedNumber || first[0] == openedNumber && first[1] <= openedOffset;
	}

	/** Marks the first "count" records that read() has returned as accepted, so that they need not be kept. */
	void taken(int count) throws IOException {
		long[] end = ends.get(count - 1);

		writePosition(end[0], end[1]);
		synchronized (this) {
			positionNumber = end[0];
			positionOffset = end[1];
			removeTaken();
		}
	}

	private void writePosition(long number, long offset) throws IOException {
		File fresh = new File(directory, "position.new");

		try (FileChannel channel = FileChannel.open(fresh.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE,
				StandardOpenOption.TRUNCATE_EXISTING)) {
			channel.write(StandardCharsets.UTF_8.encode(number + " " + offset + "\n"));
			channel.force(true);
		}
		Files.move(fresh.toPath(), new File(directory, "position").toPath(), StandardCopyOption.ATOMIC_MOVE,
			StandardCopyOption.REPLACE_EXISTING);
	}

	private synchronized void removeTaken() throws IOException {
		while (numbers.first() < positionNumber) {
			File taken = file(numbers.pollFirst());
			bytes -= taken.length();
			Files.deleteIfExists(taken.toPath());
		}
	}

	@Override
	public void close() throws IOException {
		end.close();
		if (reader != null) {
			reader.close();
		}
		lock.release();
		lockFile.close();
	}
}

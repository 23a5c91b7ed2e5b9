package org.yquota.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The spool by itself. */
public class SpoolTest {
	private static final long LARGE = 1L << 30;
	private static final int MEGABYTE = 1 << 20;

	@Rule
	public final TemporaryFolder folder = new TemporaryFolder();

	private Spool open(long mostBytes) throws IOException {
		return new Spool(folder.getRoot(), mostBytes);
	}

	@Test
	public void recordsComeUntilTheyAreTaken() throws Exception {
		try (Spool spool = open(LARGE)) {
			assertEquals(Collections.emptyList(), spool.read(10, 1));
			spool.append("one\ntwo\nthr\u00e9e\n");
			assertEquals(Arrays.asList("one", "two"), spool.read(2, 1));
			assertEquals(Arrays.asList("one", "two", "thr\u00e9e"), spool.read(10, 1));
			spool.taken(2);
			assertEquals(Collections.singletonList("thr\u00e9e"), spool.read(10, 1));
			spool.append("four\n");
		}
		try (Spool spool = open(LARGE)) {
			spool.append("five\n");
			assertEquals(Arrays.asList("thr\u00e9e", "four", "five"), spool.read(10, 1));
			assertTrue(spool.wasThere());
			spool.taken(1);
			assertEquals(Arrays.asList("four", "five"), spool.read(10, 1));
			assertTrue(spool.wasThere());
			spool.taken(1);
			assertEquals(Collections.singletonList("five"), spool.read(10, 1));
			assertFalse(spool.wasThere());
			spool.taken(1);
		}
		try (Spool spool = open(LARGE)) {
			assertEquals(Collections.emptyList(), spool.read(10, 1));
		}
	}

	@Test
	public void goesOnOnceANewFileCanBeMade() throws Exception {
		File inTheWay = new File(folder.getRoot(), "records-2");
		String large = String.join("", Collections.nCopies(16 * MEGABYTE, "x"));

		try (Spool spool = open(LARGE)) {
			spool.append(large + "\n");
			assertTrue(inTheWay.mkdir());
			for (int tries = 0; tries < 2; tries++) {
				assertThrows(IOException.class, () -> spool.append("lost\n"));
			}
			assertTrue(inTheWay.delete());
			spool.append("kept\n");
			assertEquals(Arrays.asList(large, "kept"), spool.read(10, 1));
			spool.taken(2);
			assertTrue(spool.isEmpty());
		}
	}

	@Test
	public void aLineWithoutItsEndIsCutOff() throws Exception {
		try (Spool spool = open(LARGE)) {
			spool.append("whole\n");
		}
		Files.write(new File(folder.getRoot(), "records-1").toPath(), "part".getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
		try (Spool spool = open(LARGE)) {
			spool.append("next\n");
			assertEquals(Arrays.asList("whole", "next"), spool.read(10, 1));
		}
	}

	@Test
	public void whatIsFullKeepsTheOldest() throws Exception {
		try (Spool spool = open(3 * MEGABYTE)) {
			for (int i = 0; spool.hasRoom(); i++) {
				spool.append(line(i));
			}
			assertEquals(3 * MEGABYTE, files(3));
			assertEquals(line(0).trim(), spool.read(1, 1).get(0));
		}
		try (Spool spool = open(3 * MEGABYTE)) {
			assertFalse("it is still full after a restart", spool.hasRoom());
			assertEquals(3, spool.read(10, 1).size());
			spool.taken(1);
			assertTrue("there is room for what has been taken", spool.hasRoom());
		}
	}

	@Test
	public void filesGoOnceTheyAreTaken() throws Exception {
		int most = 50;

		try (Spool spool = open(40L * MEGABYTE)) {
			for (int i = 0; i < 40; i++) {
				assertTrue(spool.hasRoom());
				spool.append(line(i));
			}
			assertFalse(spool.hasRoom());
			assertEquals(3, folder.getRoot().list((directory, name) -> name.startsWith("records-")).length);
			List<String> records = spool.read(most, 1);
			for (int i = 0; i < 40; i++) {
				assertEquals(line(i).trim(), records.get(i));
			}
			spool.taken(20);
			assertTrue("a file has gone", spool.hasRoom());
			assertEquals(line(20).trim(), spool.read(1, 1).get(0));
		}
		try (Spool spool = open(40L * MEGABYTE)) {
			assertEquals(20, spool.read(most, 1).size());
			spool.taken(20);
			assertEquals(Collections.emptyList(), spool.read(most, 1));
		}
	}

	@Test
	public void oneProcessUsesIt() throws Exception {
		try (Spool spool = open(LARGE)) {
			assertThrows(IOException.class, () -> open(LARGE));
		}
	}

	/** Returns a record of one megabyte, with its line end. */
	private static String line(int number) {
		char[] text = new char[MEGABYTE - 1];

		Arrays.fill(text, (char) ('a' + number % 26));
		return new String(text) + "\n";
	}

	/** Returns the size of all record files, and checks that there are at most "most" files. */
	private long files(int most) {
		File[] files = folder.getRoot().listFiles((directory, name) -> name.startsWith("records-"));

		assertTrue(files.length <= most);
		return Arrays.stream(files).mapToLong(File::length).sum();
	}
}

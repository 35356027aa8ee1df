package dev.fathom.io;

import static dev.fathom.io.Threads.inThreads;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Effects of batches on files, checked by reading and writing them by other means. */
class RandomAccessTest {
    private static final int BLOCK = 4096;
    private static final int BLOCKS = 256;

    @TempDir
    Path directory;

    private Path file;
    private byte[] content;

    @BeforeEach
    void fill() throws IOException {
        file = directory.resolve("data é");
        content = new byte[BLOCK * BLOCKS];
        new Random(7).nextBytes(content);
        Files.write(file, content);
    }

    private RandomAccessBuilder builder() {
        return RandomAccess.builder().buffer(BLOCK * BLOCKS);
    }

    private static byte[] bytes(ByteBuffer buffer, int position, int length) {
        byte[] bytes = new byte[length];
        buffer.get(position, bytes);
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void readsWhatIsThere(Engine engine) throws IOException {
        try (RandomAccess access = builder().engine(engine).depth(32).open(file)) {
            Batch batch = access.newBatch(BLOCKS);
            for (int i = 0; i < BLOCKS; i++) {
                batch.read((long) (BLOCKS - 1 - i) * BLOCK, BLOCK, i * BLOCK);
            }
            for (int round = 0; round < 3; round++) {
                assertEquals(0, access.run(batch));
                for (int i = 0; i < BLOCKS; i++) {
                    assertEquals(BLOCK, batch.result(i));
                    int from = (BLOCKS - 1 - i) * BLOCK;
                    assertArrayEquals(java.util.Arrays.copyOfRange(content, from, from + BLOCK), bytes(access.buffer(0), i * BLOCK, BLOCK));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void writesWhatItWasGiven(Engine engine) throws IOException {
        Path other = directory.resolve("other");
        try (RandomAccess access = builder().engine(engine).writable(true).create(true).open(file, other)) {
            access.buffer(0).put(0, content);
            Batch batch = access.newBatch(BLOCKS);
            for (int i = 0; i < BLOCKS; i++) {
                batch.write(1, (long) (BLOCKS - 1 - i) * BLOCK, BLOCK, 0, i * BLOCK);
            }
            access.submit(batch);
            assertEquals(0, access.await(batch));
            batch.check();
            access.sync();
            assertEquals(content.length, access.size(1));
        }
        byte[] written = Files.readAllBytes(other);
        for (int i = 0; i < BLOCKS; i++) {
            int at = (BLOCKS - 1 - i) * BLOCK;
            assertArrayEquals(
                    java.util.Arrays.copyOfRange(content, i * BLOCK, (i + 1) * BLOCK), java.util.Arrays.copyOfRange(written, at, at + BLOCK));
        }
        assertArrayEquals(content, Files.readAllBytes(file));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void whatIsImpossibleFailsAloneAndTouchesNothing(Engine engine) throws IOException {
        try (RandomAccess access = builder().engine(engine).open(file)) {
            Batch batch = access.newBatch(16);
            int size = BLOCK * BLOCKS;
            batch.read(0, BLOCK, size - BLOCK + 1); // beyond the buffer
            batch.read(0, -1, 0);
            batch.read(0, 0, 0);
            batch.read(-1, BLOCK, 0);
            batch.read(0, BLOCK, -BLOCK);
            batch.read(0, Integer.MAX_VALUE, Integer.MAX_VALUE);
            batch.read(Long.MAX_VALUE, BLOCK, 0);
            batch.read(1, 0, BLOCK, 0, 0); // no such file
            batch.read(0, 0, BLOCK, 1, 0); // no such buffer
            batch.read(-1, 0, BLOCK, -1, 0);
            batch.write(0, BLOCK, 0); // not writable
            batch.read(0, BLOCK, 0); // fine
            assertEquals(11, access.run(batch));
            for (int i = 0; i < 10; i++) {
                assertEquals(-22, batch.result(i), "entry " + i);
            }
            assertEquals(-9, batch.result(10));
            assertEquals(BLOCK, batch.result(11));
            RandomAccessException failure = assertThrows(RandomAccessException.class, batch::check);
            assertEquals(22, failure.errno());
            assertTrue(failure.getMessage().startsWith("read of 4096 bytes at offset 0 of " + file), failure.getMessage());
            assertThrows(IllegalArgumentException.class, () -> batch.clear().read(1 << 16, 0, BLOCK, 0, 0));
        }
        assertArrayEquals(content, Files.readAllBytes(file));
    }

    @Test
    void descriptorsOfAnotherKindAreRefusedNatively() throws IOException {
        try (RandomAccess access = builder().open(file)) {
            Batch batch = access.newBatch(1).read(0, BLOCK, 0);
            batch.descriptors.putInt(16, 77);
            assertEquals(1, access.run(batch));
            assertEquals(-22, batch.result(0));
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aFileThatShrinksGivesShortReads(Engine engine) throws IOException {
        try (RandomAccess access = builder().engine(engine).open(file)) {
            Batch batch = access.newBatch(2).read(0, BLOCK, 0).read(BLOCK, BLOCK, BLOCK);
            access.run(batch);
            batch.check();
            Files.write(file, new byte[100]);
            assertEquals(0, access.run(batch));
            assertEquals(100, batch.result(0));
            assertEquals(0, batch.result(1));
            assertTrue(assertThrows(RandomAccessException.class, batch::check).getMessage().contains("only 100 bytes"));
        }
    }

    @Test
    void whatCannotBeOpenedSaysWhy() throws Exception {
        Path absent = directory.resolve("absent");
        RandomAccessException failure = assertThrows(RandomAccessException.class, () -> builder().open(absent));
        assertEquals("opening " + absent + ": no such file or directory (ENOENT)", failure.getMessage());
        assertTrue(assertThrows(RandomAccessException.class, () -> builder().open(directory)).getMessage().contains("is a directory"));
        assertTrue(assertThrows(RandomAccessException.class, () -> builder().open(Path.of("/dev/null"))).getMessage()
                .contains("only regular files and block devices"));
        Path pipe = directory.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        assertEquals(22, assertThrows(RandomAccessException.class, () -> builder().open(pipe)).errno());
        assertThrows(IllegalArgumentException.class, () -> builder().open());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void afterCloseEverythingThrows(Engine engine) throws IOException {
        RandomAccess access = builder().engine(engine).open(file);
        Batch batch = access.newBatch(1).read(0, BLOCK, 0);
        Batch submitted = access.newBatch(1).read(0, BLOCK, 0);
        access.submit(submitted);
        access.close();
        access.close();
        assertFalse(access.isOpen());
        assertThrows(ClosedChannelException.class, () -> access.run(batch));
        assertThrows(ClosedChannelException.class, () -> access.submit(batch));
        assertThrows(ClosedChannelException.class, () -> access.size(0));
        assertThrows(ClosedChannelException.class, access::sync);
        assertThrows(AsynchronousCloseException.class, () -> access.await(submitted));
        // Buffers stay readable after closing.
        access.buffer(0).put(0, (byte) 1);
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void closedWhileOthersWait(Engine engine) throws Exception {
        for (int round = 0; round < 30; round++) {
            RandomAccess access = builder().engine(engine).depth(8).open(file);
            List<Thread> threads = new ArrayList<>();
            AtomicReference<Throwable> unexpected = new AtomicReference<>();
            for (int number = 0; number < 4; number++) {
                threads.add(new Thread(() -> {
                    Batch batch = access.newBatch(BLOCKS);
                    for (int i = 0; i < BLOCKS; i++) {
                        batch.read((long) i * BLOCK, BLOCK, i * BLOCK);
                    }
                    try {
                        while (true) {
                            access.run(batch);
                        }
                    } catch (ClosedChannelException expected) {
                        // AsynchronousCloseException is a subclass of this exception.
                    } catch (Throwable other) {
                        unexpected.set(other);
                    }
                }));
            }
            threads.forEach(Thread::start);
            Thread.sleep(round % 7);
            access.close();
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(null, unexpected.get());
        }
    }

    @Test
    void sixteenThreadsWithRingsOfTheirOwn() throws Exception {
        inThreads(16, number -> {
            try (RandomAccess access = builder().depth(64).open(file)) {
                readAll(access, 20, number);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void oneRingOfManyThreads(Engine engine) throws Exception {
        RandomAccessBuilder builder = RandomAccess.builder().engine(engine).depth(64);
        for (int number = 0; number < 8; number++) {
            builder.buffer(BLOCK * BLOCKS);
        }
        try (RandomAccess access = builder.open(file)) {
            inThreads(8, number -> readAll(access, 20, number));
        }
    }

    @Test
    void aBatchOfTwoThreadsIsRefused() throws Exception {
        try (RandomAccess access = builder().open(file); RandomAccess other = builder().open(file)) {
            Batch batch = access.newBatch(1).read(0, BLOCK, 0);
            assertThrows(IllegalArgumentException.class, () -> other.run(batch));
            assertThrows(IllegalStateException.class, () -> access.await(batch));
            access.submit(batch);
            assertThrows(IllegalStateException.class, () -> access.submit(batch));
            assertThrows(IllegalStateException.class, () -> batch.result(0));
            assertThrows(IllegalStateException.class, () -> batch.read(0, BLOCK, 0));
            access.await(batch);
            assertThrows(IllegalStateException.class, () -> batch.read(0, BLOCK, 0));
        }
    }

    @Test
    void moreBatchesThanThereIsRoomFor() throws Exception {
        try (RandomAccess access = builder().open(file)) {
            List<Batch> batches = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                Batch batch = access.newBatch(1).read(0, BLOCK, 0);
                access.submit(batch);
                batches.add(batch);
            }
            Batch one = access.newBatch(1).read(0, BLOCK, 0);
            assertTrue(assertThrows(RandomAccessException.class, () -> access.submit(one)).getMessage().startsWith("64 batches"));
            assertTrue(assertThrows(RandomAccessException.class, () -> access.run(one)).getMessage().startsWith("64 batches"));
            for (Batch batch : batches) {
                assertEquals(0, access.await(batch));
            }
            assertEquals(0, access.run(one));
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void futuresComplete(Engine engine) throws Exception {
        try (RandomAccess access = builder().engine(engine).open(file)) {
            List<CompletableFuture<Batch>> futures = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                futures.add(access.runAsync(access.newBatch(1).read((long) i * BLOCK, BLOCK, i * BLOCK)));
            }
            for (CompletableFuture<Batch> future : futures) {
                future.get().check();
            }
            assertArrayEquals(java.util.Arrays.copyOf(content, 40 * BLOCK), bytes(access.buffer(0), 0, 40 * BLOCK));
        }
        RandomAccess closing = builder().engine(engine).open(file);
        closing.close();
        assertThrows(ClosedChannelException.class, () -> closing.runAsync(closing.newBatch(1).read(0, BLOCK, 0)));
    }

    @Test
    void futuresOfAClosedFileFail() throws Exception {
        for (int round = 0; round < 20; round++) {
            RandomAccess access = builder().engine(Engine.PREADV).open(file);
            List<CompletableFuture<Batch>> futures = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                futures.add(access.runAsync(access.newBatch(1).read(0, BLOCK, 0)));
            }
            access.close();
            for (CompletableFuture<Batch> future : futures) {
                try {
                    future.get();
                } catch (ExecutionException failure) {
                    assertEquals(AsynchronousCloseException.class, failure.getCause().getClass());
                }
            }
        }
    }

    @Test
    void whatIsForgottenInFlightIsCollectedSafely() throws Exception {
        for (int round = 0; round < 50; round++) {
            RandomAccess access = RandomAccess.builder().buffer(BLOCK * BLOCKS).open(file);
            Batch batch = access.newBatch(BLOCKS);
            for (int i = 0; i < BLOCKS; i++) {
                batch.read((long) i * BLOCK, BLOCK, i * BLOCK);
            }
            access.submit(batch);
            access = null;
            batch = null;
            if (round % 10 == 0) {
                System.gc();
            }
        }
        int before = descriptors();
        long until = System.nanoTime() + 20_000_000_000L;
        while (descriptors() > 60 && System.nanoTime() < until) {
            System.gc();
            Thread.sleep(20);
        }
        assertTrue(descriptors() < 100, "descriptors were " + before + " and are " + descriptors());
        readsWhatIsThere(Engine.AUTOMATIC);
    }

    @Test
    void virtualThreadsLetGoOfTheirCarriers() throws Exception {
        java.lang.reflect.Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException absent) {
            org.junit.jupiter.api.Assumptions.abort("virtual threads need Java 21");
            return;
        }
        AtomicBoolean failed = new AtomicBoolean();
        try (RandomAccess access = builder().open(file)) {
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < 50; number++) {
                Runnable work = () -> {
                    try {
                        Batch batch = access.newBatch(1).read(0, BLOCK, 0);
                        for (int i = 0; i < 20; i++) {
                            access.run(batch);
                            batch.check();
                        }
                    } catch (Throwable failure) {
                        failed.set(true);
                        failure.printStackTrace();
                    }
                };
                threads.add((Thread) start.invoke(null, work));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        assertFalse(failed.get());
    }

    @Test
    void itSaysHowItWorks() throws IOException {
        try (RandomAccess access = builder().engine(Engine.PREADV).open(file)) {
            assertEquals(Engine.PREADV, access.engine());
            assertEquals("asked for", access.engineReason());
            assertEquals(1, access.alignment(0));
        }
        System.setProperty("dev.fathom.engine", "preadv");
        try (RandomAccess access = builder().open(file)) {
            assertEquals(Engine.PREADV, access.engine());
        } finally {
            System.clearProperty("dev.fathom.engine");
        }
    }

    // Its successor threadId() exists since Java 19.
    @SuppressWarnings("deprecation")
    @ParameterizedTest
    @EnumSource(Engine.class)
    void batchesAllocateNothing(Engine engine) throws IOException {
        com.sun.management.ThreadMXBean counter = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        long own = Thread.currentThread().getId();
        try (RandomAccess access = builder().engine(engine).open(file)) {
            Batch batch = access.newBatch(16);
            long before = 0;
            for (int round = 0; round < 3000; round++) {
                if (round == 1000) {
                    before = counter.getThreadAllocatedBytes(own);
                }
                batch.clear();
                for (int i = 0; i < 16; i++) {
                    batch.read((long) i * BLOCK, BLOCK, i * BLOCK);
                }
                if (round % 2 == 0) {
                    access.run(batch);
                } else {
                    access.submit(batch);
                    access.await(batch);
                }
                batch.check();
            }
            long allocated = counter.getThreadAllocatedBytes(own) - before;
            assertTrue(allocated < 2000, allocated + " bytes in 2,000 batches");
        }
    }

    @Test
    void theClassOfTheJavaVersionIsTaken() {
        // A jar built with a JDK older than 22 has no other class.
        boolean foreign = NativeCalls.class.getResource("/META-INF/versions/22/dev/fathom/io/NativeCalls.class") != null
                && Runtime.version().feature() >= 22;
        assertEquals(foreign ? "java.lang.foreign" : "JNI", NativeCalls.binding());
    }

    private static int descriptors() {
        return java.util.Objects.requireNonNull(new java.io.File("/proc/self/fd").list()).length;
    }

    private void readAll(RandomAccess access, int rounds, int number) throws IOException {
        int buffer = number;
        try {
            access.buffer(number);
        } catch (IndexOutOfBoundsException single) {
            buffer = 0;
        }
        Batch batch = access.newBatch(BLOCKS);
        Random random = new Random(number);
        for (int round = 0; round < rounds; round++) {
            batch.clear();
            for (int i = 0; i < BLOCKS; i++) {
                batch.read(0, (long) random.nextInt(BLOCKS) * BLOCK, BLOCK, buffer, i * BLOCK);
            }
            access.run(batch);
            batch.check();
            for (int i = 0; i < BLOCKS; i++) {
                int from = (int) batch.offset(i);
                assertArrayEquals(java.util.Arrays.copyOfRange(content, from, from + BLOCK), bytes(access.buffer(buffer), i * BLOCK, BLOCK));
            }
        }
    }
}

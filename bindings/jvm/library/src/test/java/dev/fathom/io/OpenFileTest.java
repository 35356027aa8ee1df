package dev.fathom.io;

import static dev.fathom.io.Threads.inThreads;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reads and writes without a batch, checked by reading and writing the file by other means. */
class OpenFileTest {
    private static final int BLOCK = 4096;
    private static final int BLOCKS = 256;

    @TempDir
    Path directory;

    private Path path;
    private byte[] content;

    @BeforeEach
    void fill() throws IOException {
        path = directory.resolve("data");
        content = new byte[BLOCK * BLOCKS];
        new Random(11).nextBytes(content);
        Files.write(path, content);
    }

    private byte[] part(int from, int length) {
        return Arrays.copyOfRange(content, from, from + length);
    }

    private static byte[] bytes(ByteBuffer buffer, int from, int length) {
        byte[] bytes = new byte[length];
        buffer.get(from, bytes);
        return bytes;
    }

    private static RandomAccessBuilder builder(Engine engine) {
        return RandomAccess.builder().engine(engine).writable(true);
    }

    private static List<ByteBuffer> buffersOfAllKinds(int bytes) {
        return List.of(ByteBuffer.allocate(bytes), ByteBuffer.allocateDirect(bytes), ByteBuffer.allocateDirect(bytes + 7).slice(7, bytes),
                ByteBuffer.wrap(new byte[bytes + 3], 3, bytes).slice());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void anyBufferIsFilledFromItsPositionToItsLimit(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).open(path)) {
            OpenFile file = access.file(0);
            for (boolean future : new boolean[] {false, true}) {
                for (ByteBuffer buffer : buffersOfAllKinds(1000)) {
                    buffer.position(100).limit(900);
                    int read = future ? file.readAsync(buffer, 5000).get() : file.read(buffer, 5000);
                    assertEquals(800, read);
                    assertEquals(900, buffer.position());
                    buffer.clear();
                    assertArrayEquals(part(5000, 800), bytes(buffer, 100, 800));
                    assertArrayEquals(new byte[100], bytes(buffer, 0, 100));
                    assertArrayEquals(new byte[100], bytes(buffer, 900, 100));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void anyBufferIsWrittenFromItsPositionToItsLimit(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).open(path)) {
            OpenFile file = access.file(0);
            int at = 10_000;
            for (boolean future : new boolean[] {false, true}) {
                for (ByteBuffer buffer : buffersOfAllKinds(500)) {
                    byte[] written = new byte[300];
                    new Random(at).nextBytes(written);
                    buffer.position(150).put(written).position(150).limit(450);
                    ByteBuffer source = buffer.asReadOnlyBuffer();
                    assertEquals(300, future ? file.writeAsync(source, at).get() : file.write(source, at));
                    assertEquals(450, source.position());
                    System.arraycopy(written, 0, content, at, 300);
                    at += 300;
                }
            }
            file.sync();
            assertArrayEquals(content, Files.readAllBytes(path));
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void theEndOfTheFileIsSeen(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).open(path)) {
            OpenFile file = access.file(0);
            ByteBuffer buffer = ByteBuffer.allocateDirect(100);
            for (long offset : new long[] {content.length, content.length + 1L, 1L << 50}) {
                assertEquals(-1, file.read(buffer, offset));
                assertEquals(-1, file.readAsync(buffer, offset).get());
                assertEquals(0, buffer.position());
            }
            assertEquals(30, file.read(buffer, content.length - 30));
            assertEquals(30, buffer.position());
            assertEquals(30, file.readAsync(buffer, content.length - 30).get());
            assertEquals(60, buffer.position());
            buffer.limit(60);
            assertEquals(0, file.read(buffer, 0));
            assertEquals(0, file.readAsync(buffer, 0).get());
            assertEquals(0, file.writeAsync(buffer, 0).get());
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void whatIsImpossibleSaysSo(Engine engine) throws Exception {
        try (RandomAccess access = RandomAccess.builder().engine(engine).open(path)) {
            OpenFile file = access.file(0);
            ByteBuffer buffer = ByteBuffer.allocateDirect(100);
            assertThrows(IllegalArgumentException.class, () -> file.read(buffer.asReadOnlyBuffer(), 0));
            assertThrows(IllegalArgumentException.class, () -> file.readAsync(buffer.asReadOnlyBuffer(), 0));
            assertThrows(IllegalArgumentException.class, () -> file.read(buffer, -1));
            assertThrows(IllegalArgumentException.class, () -> file.writeAsync(buffer, -1));
            assertThrows(NullPointerException.class, () -> file.readAsync(null, 0));
            assertThrows(IndexOutOfBoundsException.class, () -> access.file(1));
            String expected = "write of 100 bytes at offset 7 of " + path + ": the file is not open for this (EBADF); open it with writable(true) to write";
            assertEquals(expected, assertThrows(RandomAccessException.class, () -> file.write(buffer, 7)).getMessage());
            CompletionException failure = assertThrows(CompletionException.class, () -> file.writeAsync(buffer, 7).join());
            assertEquals(expected, failure.getCause().getMessage());
            assertEquals(0, buffer.position());
            RandomAccessException beyond = assertThrows(RandomAccessException.class, () -> file.read(buffer, Long.MAX_VALUE));
            assertEquals(22, beyond.errno());
            assertThrows(CompletionException.class, () -> file.readAsync(buffer, Long.MAX_VALUE).join());
            assertEquals(9, assertThrows(RandomAccessException.class, () -> file.truncate(0)).errno());
            assertEquals(9, assertThrows(RandomAccessException.class, () -> file.allocate(0, 10)).errno());
            // The file remains usable afterwards.
            assertEquals(100, file.readAsync(buffer, 0).get());
        }
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void afterCloseEverythingFails(Engine engine) throws Exception {
        for (boolean used : new boolean[] {false, true}) {
            RandomAccess access = builder(engine).open(path);
            OpenFile file = access.file(0);
            ByteBuffer buffer = ByteBuffer.allocateDirect(100);
            if (used) {
                file.readAsync(buffer.duplicate(), 0).get();
            }
            access.close();
            assertThrows(ClosedChannelException.class, () -> file.read(buffer, 0));
            assertThrows(ClosedChannelException.class, () -> file.write(buffer, 0));
            assertThrows(ClosedChannelException.class, () -> file.truncate(0));
            assertThrows(ClosedChannelException.class, () -> file.allocate(0, 1));
            assertThrows(ClosedChannelException.class, file::sync);
            assertThrows(ClosedChannelException.class, file::size);
            for (CompletableFuture<Integer> future : List.of(file.readAsync(buffer, 0), file.writeAsync(buffer, 0))) {
                assertInstanceOf(ClosedChannelException.class, assertThrows(CompletionException.class, future::join).getCause());
            }
            assertEquals(0, buffer.position());
        }
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void theSizeIsSetAndSpaceReserved(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).open(path)) {
            OpenFile file = access.file(0);
            file.truncate(5000);
            assertEquals(5000, Files.size(path));
            assertEquals(5000, file.size());
            file.truncate(9000);
            byte[] grown = Arrays.copyOf(part(0, 5000), 9000);
            assertArrayEquals(grown, Files.readAllBytes(path));
            long blocks = blocks();
            file.allocate(1 << 20, 1 << 20);
            assertEquals(2 << 20, file.size());
            assertTrue(blocks() >= blocks + (1 << 20) / 512, blocks + " blocks became " + blocks());
            assertArrayEquals(Arrays.copyOf(grown, 2 << 20), Files.readAllBytes(path));
            assertThrows(IllegalArgumentException.class, () -> file.truncate(-1));
            assertThrows(IllegalArgumentException.class, () -> file.allocate(-1, 1));
            assertThrows(IllegalArgumentException.class, () -> file.allocate(0, 0));
            RandomAccessException failure = assertThrows(RandomAccessException.class, () -> file.allocate(Long.MAX_VALUE, 1));
            assertTrue(failure.getMessage().startsWith("allocation of 1 bytes at offset 9223372036854775807 of " + path + ": "), failure.getMessage());
            assertEquals(2 << 20, file.size());
        }
    }

    private long blocks() throws Exception {
        Process stat = new ProcessBuilder("stat", "-c", "%b", path.toString()).start();
        return Long.parseLong(new String(stat.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.US_ASCII).trim());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void manyAreInFlightAtATime(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).depth(8).open(path)) {
            OpenFile file = access.file(0);
            for (int round = 0; round < 20; round++) {
                List<ByteBuffer> buffers = new ArrayList<>();
                List<CompletableFuture<Integer>> futures = new ArrayList<>();
                for (int i = 0; i < BLOCKS; i++) {
                    ByteBuffer buffer = i % 3 == 0 ? ByteBuffer.allocate(BLOCK) : ByteBuffer.allocateDirect(BLOCK);
                    buffers.add(buffer);
                    futures.add(file.readAsync(buffer, (long) i * BLOCK));
                }
                for (int i = 0; i < BLOCKS; i++) {
                    assertEquals(BLOCK, futures.get(i).get());
                    assertArrayEquals(part(i * BLOCK, BLOCK), bytes(buffers.get(i), 0, BLOCK));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void futuresCompleteInTheExecutorOfChoice(Engine engine) throws Exception {
        ExecutorService own = Executors.newSingleThreadExecutor(task -> new Thread(task, "chosen"));
        try (RandomAccess access = builder(engine).executor(own).buffer(BLOCK).open(path)) {
            OpenFile file = access.file(0);
            CountDownLatch begun = new CountDownLatch(1);
            // A stage that is attached before the future is complete runs where the future completes: the
            // executor waits until the stage is attached.
            own.execute(() -> {
                try {
                    begun.await();
                } catch (InterruptedException never) {
                    throw new AssertionError(never);
                }
            });
            CompletableFuture<String> thread = file.readAsync(ByteBuffer.allocate(10), 0).thenApply(read -> Thread.currentThread().getName());
            CompletableFuture<String> batch = access.runAsync(access.newBatch(1).read(0, BLOCK, 0)).thenApply(done -> Thread.currentThread().getName());
            begun.countDown();
            assertEquals("chosen", thread.get());
            assertEquals("chosen", batch.get());
        } finally {
            own.shutdown();
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void anExecutorThatRefusesFailsTheFuture(Engine engine) throws Exception {
        ExecutorService ended = Executors.newSingleThreadExecutor();
        ended.shutdown();
        try (RandomAccess access = builder(engine).executor(ended).buffer(BLOCK).open(path)) {
            OpenFile file = access.file(0);
            for (int i = 0; i < 3; i++) {
                ByteBuffer buffer = ByteBuffer.allocate(BLOCK);
                CompletionException failure = assertThrows(CompletionException.class, () -> file.readAsync(buffer, 0).join());
                assertInstanceOf(RejectedExecutionException.class, failure.getCause());
            }
            Batch batch = access.newBatch(1).read(0, BLOCK, 0);
            assertInstanceOf(RejectedExecutionException.class,
                    assertThrows(CompletionException.class, () -> access.runAsync(batch).join()).getCause());
            // Without a future, the executor is not used.
            assertEquals(BLOCK, file.read(ByteBuffer.allocate(BLOCK), 0));
            assertEquals(0, access.run(batch));
        }
        Error own = new Error("of the executor");
        try (RandomAccess access = builder(engine).executor(task -> {
            throw own;
        }).open(path)) {
            CompletionException failure = assertThrows(CompletionException.class, () -> access.file(0).readAsync(ByteBuffer.allocate(1), 0).join());
            assertSame(own, failure.getCause());
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aCallbackThatThrowsStopsNothing(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).executor(Runnable::run).open(path)) {
            OpenFile file = access.file(0);
            for (int i = 0; i < 50; i++) {
                CompletableFuture<Object> failing = file.readAsync(ByteBuffer.allocateDirect(BLOCK), 0).thenApply(read -> {
                    throw new IllegalStateException("of the callback");
                });
                assertEquals("of the callback", assertThrows(CompletionException.class, failing::join).getCause().getMessage());
                assertEquals(BLOCK, file.readAsync(ByteBuffer.allocateDirect(BLOCK), 0).join());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void callbacksBeginTheNextOne(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).executor(Runnable::run).depth(2).open(path)) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(content.length);
            assertEquals(content.length, readOn(access.file(0), buffer, 0).get());
            assertArrayEquals(content, bytes(buffer, 0, content.length));
        }
    }

    private static CompletableFuture<Integer> readOn(OpenFile file, ByteBuffer buffer, int from) {
        if (from == buffer.capacity()) {
            return CompletableFuture.completedFuture(from);
        }
        return file.readAsync(buffer.limit(from + BLOCK), from).thenCompose(read -> readOn(file, buffer, from + read));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aCallbackMayClose(Engine engine) throws Exception {
        for (int round = 0; round < 20; round++) {
            RandomAccess access = builder(engine).executor(Runnable::run).open(path);
            List<CompletableFuture<Integer>> futures = new ArrayList<>();
            CompletableFuture<Void> closed = access.file(0).readAsync(ByteBuffer.allocate(BLOCK), 0).thenAccept(read -> access.close());
            for (int i = 0; i < 20; i++) {
                futures.add(access.file(0).readAsync(ByteBuffer.allocate(BLOCK), 0));
            }
            closed.get(30, TimeUnit.SECONDS);
            assertFalse(access.isOpen());
            futures.forEach(OpenFileTest::endsAsItMayWhenClosed);
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void threadsThatEndDoNotTakeTheirReadsWithThem(Engine engine) throws Exception {
        ConcurrentLinkedQueue<CompletableFuture<Integer>> futures = new ConcurrentLinkedQueue<>();
        try (RandomAccess access = builder(engine).open(path)) {
            List<ByteBuffer> buffers = Collections.synchronizedList(new ArrayList<>());
            inThreads(100, number -> {
                ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
                buffers.add(buffer);
                futures.add(access.file(0).readAsync(buffer, (long) number * BLOCK));
            });
            for (CompletableFuture<Integer> future : futures) {
                assertEquals(BLOCK, future.get());
            }
            long sum = 0;
            for (ByteBuffer buffer : buffers) {
                sum += Arrays.hashCode(bytes(buffer, 0, BLOCK));
            }
            for (int number = 0; number < 100; number++) {
                sum -= Arrays.hashCode(part(number * BLOCK, BLOCK));
            }
            assertEquals(0, sum);
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aHundredThreadsReadAndWrite(Engine engine) throws Exception {
        try (RandomAccess access = builder(engine).depth(32).open(path)) {
            OpenFile file = access.file(0);
            inThreads(100, number -> {
                Random random = new Random(number);
                for (int round = 0; round < 30; round++) {
                    ByteBuffer buffer = random.nextBoolean() ? ByteBuffer.allocate(BLOCK) : ByteBuffer.allocateDirect(BLOCK);
                    byte[] own = new byte[BLOCK];
                    random.nextBytes(own);
                    buffer.put(own).flip();
                    // Each thread uses two blocks exclusively.
                    long at = (2L * number + round % 2) * BLOCK;
                    assertEquals(BLOCK, random.nextBoolean() ? file.write(buffer, at) : file.writeAsync(buffer, at).get());
                    buffer.clear().put(new byte[BLOCK]).clear();
                    assertEquals(BLOCK, random.nextBoolean() ? file.read(buffer, at) : file.readAsync(buffer, at).get());
                    assertArrayEquals(own, bytes(buffer, 0, BLOCK));
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void closedWhileAHundredThreadsReadEveryFutureEnds(Engine engine) throws Exception {
        for (int round = 0; round < 10; round++) {
            RandomAccess access = builder(engine).depth(4).open(path);
            ConcurrentLinkedQueue<CompletableFuture<Integer>> futures = new ConcurrentLinkedQueue<>();
            CountDownLatch underWay = new CountDownLatch(100);
            CompletableFuture<Void> closing = new CompletableFuture<>();
            new Thread(() -> {
                try {
                    underWay.await();
                    access.close();
                    closing.complete(null);
                } catch (Throwable failure) {
                    closing.completeExceptionally(failure);
                }
            }).start();
            inThreads(100, number -> {
                ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
                for (int i = 0; access.isOpen(); i++) {
                    CompletableFuture<Integer> last = access.file(0).readAsync(buffer.duplicate().clear(), 0);
                    futures.add(last);
                    if (i == 3) {
                        underWay.countDown();
                    }
                    if (i % 8 == 7) {
                        endsAsItMayWhenClosed(last);
                        try {
                            access.file(0).read(buffer.clear(), 0);
                        } catch (ClosedChannelException expected) {
                            break;
                        }
                    }
                }
            });
            closing.get(60, TimeUnit.SECONDS);
            futures.forEach(OpenFileTest::endsAsItMayWhenClosed);
        }
    }

    private static void endsAsItMayWhenClosed(CompletableFuture<Integer> future) {
        try {
            assertEquals(BLOCK, future.get(30, TimeUnit.SECONDS));
        } catch (java.util.concurrent.ExecutionException failure) {
            assertInstanceOf(ClosedChannelException.class, failure.getCause());
        } catch (InterruptedException | java.util.concurrent.TimeoutException never) {
            throw new AssertionError("a future is left open", never);
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void whatIsForgottenWhileItReadsIsCollectedAfterwards(Engine engine) throws Exception {
        List<CompletableFuture<Integer>> futures = new ArrayList<>();
        int before = descriptors();
        for (int round = 0; round < 40; round++) {
            RandomAccess access = builder(engine).open(path);
            for (int i = 0; i < 20; i++) {
                futures.add(access.file(0).readAsync(ByteBuffer.allocateDirect(BLOCK), (long) i * BLOCK));
            }
            access = null;
            if (round % 10 == 0) {
                System.gc();
            }
        }
        for (CompletableFuture<Integer> future : futures) {
            assertEquals(BLOCK, future.get());
        }
        long until = System.nanoTime() + 20_000_000_000L;
        while (descriptors() > before + 8 && System.nanoTime() < until) {
            System.gc();
            Thread.sleep(20);
        }
        assertTrue(descriptors() <= before + 8, "descriptors were " + before + " and are " + descriptors());
    }

    private static int descriptors() {
        return java.util.Objects.requireNonNull(new java.io.File("/proc/self/fd").list()).length;
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void batchesUseBuffersOfTheCaller(Engine engine) throws Exception {
        ByteBuffer own = ByteBuffer.allocateDirect(10 * BLOCK).position(BLOCK).limit(9 * BLOCK);
        try (RandomAccess access = builder(engine).buffer(BLOCK).buffer(own).open(path)) {
            assertEquals(8 * BLOCK, access.buffer(1).capacity());
            Batch batch = access.newBatch(8);
            for (int i = 0; i < 8; i++) {
                batch.read(0, (7L - i) * BLOCK, BLOCK, 1, i * BLOCK);
            }
            assertEquals(0, access.run(batch));
            batch.check();
            own.clear();
            for (int i = 0; i < 8; i++) {
                assertArrayEquals(part((7 - i) * BLOCK, BLOCK), bytes(own, (i + 1) * BLOCK, BLOCK));
            }
            assertArrayEquals(new byte[BLOCK], bytes(own, 0, BLOCK));
            assertArrayEquals(new byte[BLOCK], bytes(own, 9 * BLOCK, BLOCK));
            assertEquals(1, access.run(batch.clear().read(0, 0, BLOCK + 1, 1, 7 * BLOCK)));
        }
        assertThrows(IllegalArgumentException.class, () -> RandomAccess.builder().buffer(ByteBuffer.allocate(10)));
        assertThrows(IllegalArgumentException.class, () -> RandomAccess.builder().buffer(ByteBuffer.allocateDirect(10).asReadOnlyBuffer()));
        assertThrows(IllegalArgumentException.class, () -> RandomAccess.builder().buffer(ByteBuffer.allocateDirect(10).position(10)));
    }

    @Test
    void stagingMemoryIsPageAlignedAndUsedAgain() {
        Staging staging = new Staging();
        for (int length : new int[] {1, 4096, 4097, 8192, 70_000, 1 << 20, (1 << 20) + 1}) {
            ByteBuffer memory = staging.take(length);
            assertTrue(memory.capacity() >= length);
            assertEquals(0, NativeCalls.address(memory) % 4096);
            staging.give(memory);
            ByteBuffer again = staging.take(length);
            assertEquals(length <= 1 << 20, memory == again, length + " bytes");
        }
    }
}

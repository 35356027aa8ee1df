package dev.fathom.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A frozen file system keeps a write in flight until it is thawed, but still serves reads: the order of events is deterministic. For JDK 22 and newer,
 * {@code SegmentTest} does the same with arenas.
 */
@EnabledIfEnvironmentVariable(named = "FATHOM_JVM_MOUNT", matches = ".+", disabledReason = "needs root, for a loop device")
class FrozenTest {
    private static final int BLOCK = 4096;
    private final Path directory = Path.of(String.valueOf(System.getenv("FATHOM_JVM_MOUNT")));
    private final Path path = directory.resolve("frozen");
    private boolean frozen;

    @BeforeEach
    void fill() throws IOException {
        Files.write(path, new byte[4 * BLOCK]);
    }

    @AfterEach
    void remove() throws Exception {
        thaw();
        Files.deleteIfExists(path);
    }

    private void freeze() throws Exception {
        assertEquals(0, new ProcessBuilder("fsfreeze", "--freeze", directory.toString()).inheritIO().start().waitFor());
        frozen = true;
    }

    private void thaw() throws Exception {
        if (frozen) {
            frozen = false;
            assertEquals(0, new ProcessBuilder("fsfreeze", "--unfreeze", directory.toString()).inheritIO().start().waitFor());
        }
    }

    private static ByteBuffer full(int value) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
        while (buffer.hasRemaining()) {
            buffer.put((byte) value);
        }
        return buffer.flip();
    }

    private byte[] block(int number) throws IOException {
        return Arrays.copyOfRange(Files.readAllBytes(path), number * BLOCK, (number + 1) * BLOCK);
    }

    private static byte[] all(int value) {
        byte[] bytes = new byte[BLOCK];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void whatIsDoneFirstCompletesFirst(Engine engine) throws Exception {
        try (RandomAccess access = RandomAccess.builder().engine(engine).writable(true).open(path)) {
            OpenFile file = access.file(0);
            freeze();
            CompletableFuture<Integer> write = file.writeAsync(full(1), 0);
            for (int i = 0; i < 100; i++) {
                assertEquals(BLOCK, file.readAsync(ByteBuffer.allocateDirect(BLOCK), BLOCK).get(30, TimeUnit.SECONDS));
            }
            assertFalse(write.isDone());
            thaw();
            assertEquals(BLOCK, write.get(30, TimeUnit.SECONDS));
            assertArrayEquals(all(1), block(0));
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void whatTheKernelHasIsNotCancelled(Engine engine) throws Exception {
        try (RandomAccess access = RandomAccess.builder().engine(engine).writable(true).open(path)) {
            OpenFile file = access.file(0);
            freeze();
            CompletableFuture<Integer> write = file.writeAsync(full(2), 0);
            // A completed read shows that everything submitted before it has reached the kernel.
            file.readAsync(ByteBuffer.allocateDirect(BLOCK), BLOCK).get(30, TimeUnit.SECONDS);
            assertFalse(write.cancel(true));
            assertFalse(write.isDone());
            thaw();
            assertEquals(BLOCK, write.get(30, TimeUnit.SECONDS));
            assertFalse(write.cancel(true));
        }
        assertArrayEquals(all(2), block(0));
    }

    @Test
    void whatWaitsIsCancelledAndNeverDone() throws Exception {
        try (RandomAccess access = RandomAccess.builder().depth(1).writable(true).open(path)) {
            int depth = access.depth();
            OpenFile file = access.file(0);
            freeze();
            CompletableFuture<?>[] writes = new CompletableFuture<?>[depth];
            for (int i = 0; i < depth; i++) {
                writes[i] = file.writeAsync(full(3), 0);
            }
            CompletableFuture<Integer> waiting = file.writeAsync(full(4), BLOCK);
            CompletableFuture<Integer> last = file.writeAsync(full(5), 2 * BLOCK);
            assertTrue(waiting.cancel(true));
            assertTrue(waiting.isCancelled());
            assertTrue(waiting.cancel(false));
            thaw();
            for (CompletableFuture<?> write : writes) {
                write.get(30, TimeUnit.SECONDS);
            }
            assertEquals(BLOCK, last.get(30, TimeUnit.SECONDS));
        }
        assertArrayEquals(all(3), block(0));
        assertArrayEquals(all(0), block(1));
        assertArrayEquals(all(5), block(2));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void closingWaitsForTheKernelAndEndsWhatItDoesNotHave(Engine engine) throws Exception {
        RandomAccess access = RandomAccess.builder().engine(engine).depth(1).writable(true).open(path);
        OpenFile file = access.file(0);
        freeze();
        int most = engine == Engine.PREADV ? 8 : access.depth();
        CompletableFuture<?>[] writes = new CompletableFuture<?>[most];
        for (int i = 0; i < most; i++) {
            writes[i] = file.writeAsync(full(6), 0);
        }
        CompletableFuture<Integer> waiting = file.readAsync(ByteBuffer.allocateDirect(BLOCK), BLOCK);
        // Not in the pool that completes futures: it may have a single thread.
        CompletableFuture<Void> closing = CompletableFuture.runAsync(access::close, task -> new Thread(task).start());
        if (engine == Engine.PREADV) {
            // The threads of the pool are blocked in writes, so one of them finds the file closed.
            while (access.isOpen()) {
                Thread.onSpinWait();
            }
        } else {
            assertInstanceOf(AsynchronousCloseException.class,
                    assertThrows(java.util.concurrent.ExecutionException.class, () -> waiting.get(30, TimeUnit.SECONDS)).getCause());
        }
        assertFalse(closing.isDone());
        thaw();
        closing.get(30, TimeUnit.SECONDS);
        assertInstanceOf(AsynchronousCloseException.class, assertThrows(CompletionException.class, waiting::join).getCause());
        for (CompletableFuture<?> write : writes) {
            assertEquals(BLOCK, write.get(30, TimeUnit.SECONDS));
        }
        assertArrayEquals(all(6), block(0));
    }

    @Test
    void aFutureThatSomebodyElseCompletesLeavesTheWriteAlone() throws Exception {
        try (RandomAccess access = RandomAccess.builder().writable(true).open(path)) {
            freeze();
            CompletableFuture<Integer> write = access.file(0).writeAsync(full(7), 0).orTimeout(1, TimeUnit.MILLISECONDS);
            assertInstanceOf(TimeoutException.class, assertThrows(CompletionException.class, write::join).getCause());
            // The garbage collector must not reclaim the memory before the kernel is finished.
            for (int i = 0; i < 5; i++) {
                System.gc();
                full(99);
            }
            thaw();
        }
        assertArrayEquals(all(7), block(0));
    }
}

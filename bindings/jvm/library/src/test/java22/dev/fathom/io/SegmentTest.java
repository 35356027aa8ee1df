package dev.fathom.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory segments from each kind of arena, including arenas that are closed while an I/O is in flight. */
class SegmentTest {
    private static final int BLOCK = 4096;

    @TempDir
    Path directory;

    private Path path;
    private byte[] content;

    @BeforeEach
    void fill() throws IOException {
        path = directory.resolve("data");
        content = new byte[8 * BLOCK];
        new Random(13).nextBytes(content);
        Files.write(path, content);
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void segmentsAreFilledAndWritten(Engine engine) throws Exception {
        try (RandomAccess access = RandomAccess.builder().engine(engine).writable(true).open(path);
                Arena shared = Arena.ofShared();
                Arena confined = Arena.ofConfined()) {
            OpenFile file = access.file(0);
            for (Arena arena : new Arena[] {shared, confined, Arena.ofAuto(), Arena.global()}) {
                MemorySegment segment = arena.allocate(BLOCK);
                assertEquals(BLOCK, file.read(segment.asByteBuffer(), BLOCK));
                assertArrayEquals(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK), segment.toArray(ValueLayout.JAVA_BYTE));
                segment.fill((byte) 0);
                if (arena == confined) {
                    assertThrows(IllegalArgumentException.class, () -> file.readAsync(segment.asByteBuffer(), 0));
                } else {
                    assertEquals(BLOCK, file.readAsync(segment.asByteBuffer(), 0).get());
                    assertArrayEquals(Arrays.copyOf(content, BLOCK), segment.toArray(ValueLayout.JAVA_BYTE));
                }
                segment.fill((byte) 5);
                assertEquals(BLOCK, file.writeAsync(segment.asByteBuffer(), 7 * BLOCK).get());
                assertEquals(BLOCK, file.write(segment.asByteBuffer(), 6 * BLOCK));
                Arrays.fill(content, 6 * BLOCK, 8 * BLOCK, (byte) 5);
                assertArrayEquals(content, Files.readAllBytes(path));
            }
        }
    }

    @Test
    void aClosedArenaIsRefused() throws Exception {
        Arena arena = Arena.ofShared();
        ByteBuffer buffer = arena.allocate(BLOCK).asByteBuffer();
        arena.close();
        try (RandomAccess access = RandomAccess.builder().writable(true).open(path)) {
            assertThrows(IllegalStateException.class, () -> access.file(0).read(buffer, 0));
            assertThrows(IllegalStateException.class, () -> access.file(0).readAsync(buffer, 0));
            assertThrows(IllegalStateException.class, () -> access.file(0).writeAsync(buffer, 0));
            assertThrows(IllegalStateException.class, () -> RandomAccess.builder().buffer(buffer));
        }
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @Test
    void onlyMemoryThatLastsIsTheKernels() {
        assertEquals(Lifetime.REACHABLE, NativeCalls.lifetime(ByteBuffer.allocateDirect(8).slice(1, 3)));
        assertEquals(Lifetime.REACHABLE, NativeCalls.lifetime(Arena.global().allocate(8).asByteBuffer().slice(1, 3)));
        assertEquals(Lifetime.REACHABLE, NativeCalls.lifetime(Arena.ofAuto().allocate(8).asByteBuffer().duplicate()));
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            ByteBuffer ofShared = shared.allocate(8).asByteBuffer().slice(1, 3).asReadOnlyBuffer();
            assertEquals(Lifetime.ARENA, NativeCalls.lifetime(ofShared));
            assertEquals(Lifetime.CONFINED, NativeCalls.lifetime(confined.allocate(8).asByteBuffer()));
            // While the files are open, the kernel may use a batch's buffers.
            ByteBuffer own = shared.allocate(8).asByteBuffer();
            assertThrows(IllegalArgumentException.class, () -> RandomAccess.builder().buffer(own));
        }
    }

    @Test
    void batchesUseSegmentsThatLast() throws Exception {
        MemorySegment segment = Arena.ofAuto().allocate(2 * BLOCK);
        try (RandomAccess access = RandomAccess.builder().buffer(segment.asByteBuffer()).open(path)) {
            access.run(access.newBatch(1).read(BLOCK, BLOCK, BLOCK));
        }
        byte[] expected = new byte[2 * BLOCK];
        System.arraycopy(content, BLOCK, expected, BLOCK, BLOCK);
        assertArrayEquals(expected, segment.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FATHOM_JVM_MOUNT", matches = ".+", disabledReason = "needs root, for a loop device")
    void anArenaThatIsClosedMeanwhileHurtsNothing() throws Exception {
        Path mount = Path.of(System.getenv("FATHOM_JVM_MOUNT"));
        Path frozen = mount.resolve("arena");
        Files.write(frozen, new byte[2 * BLOCK]);
        Arena arena = Arena.ofShared();
        MemorySegment source = arena.allocate(BLOCK).fill((byte) 9);
        MemorySegment destination = arena.allocate(BLOCK);
        try (RandomAccess access = RandomAccess.builder().depth(1).writable(true).open(frozen)) {
            OpenFile file = access.file(0);
            assertEquals(0, new ProcessBuilder("fsfreeze", "--freeze", mount.toString()).inheritIO().start().waitFor());
            CompletableFuture<?>[] writes = new CompletableFuture<?>[access.depth()];
            CompletableFuture<Integer> read;
            try {
                for (int i = 0; i < writes.length; i++) {
                    writes[i] = file.writeAsync(source.asByteBuffer(), 0);
                }
                // The queue is full, so this read starts after the file system is thawed.
                read = file.readAsync(destination.asByteBuffer(), BLOCK);
                arena.close();
            } finally {
                assertEquals(0, new ProcessBuilder("fsfreeze", "--unfreeze", mount.toString()).inheritIO().start().waitFor());
            }
            for (CompletableFuture<?> write : writes) {
                assertEquals(BLOCK, write.get(30, TimeUnit.SECONDS));
            }
            assertInstanceOf(IllegalStateException.class, assertThrows(CompletionException.class, read::join).getCause());
            byte[] written = new byte[2 * BLOCK];
            Arrays.fill(written, 0, BLOCK, (byte) 9);
            assertArrayEquals(written, Files.readAllBytes(frozen));
        } finally {
            Files.deleteIfExists(frozen);
        }
    }
}

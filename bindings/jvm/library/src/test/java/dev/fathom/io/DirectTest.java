package dev.fathom.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Direct I/O on a small file system on a loop device. FATHOM_JVM_MOUNT is its mount point, FATHOM_JVM_DEVICE its
 * device; scripts/test-jvm.sh creates it.
 */
@EnabledIfEnvironmentVariable(named = "FATHOM_JVM_MOUNT", matches = ".+", disabledReason = "needs root, for a loop device")
class DirectTest {
    private static final int BLOCK = 4096;
    private final Path directory = Path.of(String.valueOf(System.getenv("FATHOM_JVM_MOUNT")));
    private final Path file = directory.resolve("data");

    @AfterEach
    void remove() throws IOException {
        Files.deleteIfExists(file);
    }

    @Test
    void writesAndReadsBack() throws IOException {
        byte[] content = new byte[64 * BLOCK];
        new Random(3).nextBytes(content);
        try (RandomAccess access = RandomAccess.builder().direct(true).writable(true).create(true).buffer(content.length).open(file)) {
            assertTrue(access.alignment(0) >= 512 && BLOCK % access.alignment(0) == 0, "alignment " + access.alignment(0));
            access.buffer(0).put(0, content);
            Batch batch = access.newBatch(64);
            for (int i = 0; i < 64; i++) {
                batch.write((long) i * BLOCK, BLOCK, i * BLOCK);
            }
            access.run(batch);
            batch.check();
            assertArrayEquals(content, Files.readAllBytes(file));
            batch.clear().read(0, 100, 0).read(100, BLOCK, 0).read(0, BLOCK, 0);
            assertEquals(2, access.run(batch));
            assertEquals(-22, batch.result(0));
            assertEquals(-22, batch.result(1));
            assertTrue(assertThrows(RandomAccessException.class, batch::check).getMessage().contains("in multiples of"));
        }
    }

    @Test
    void aFullFileSystemIsNamed() throws IOException {
        int chunk = 1 << 20;
        try (RandomAccess access = RandomAccess.builder().direct(true).writable(true).create(true).buffer(chunk).open(file)) {
            Batch batch = access.newBatch(256);
            for (int i = 0; i < 256; i++) {
                batch.write((long) i * chunk, chunk, 0);
            }
            assertTrue(access.run(batch) > 0);
            RandomAccessException failure = assertThrows(RandomAccessException.class, batch::check);
            assertTrue(failure.errno() == 28 || failure.getMessage().contains("only"), failure.getMessage());
            batch.clear().write(200L * chunk, chunk, 0);
            access.run(batch);
            assertEquals(28, assertThrows(RandomAccessException.class, batch::check).errno());
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void singleReadsAndWritesNeedAlignedPlacesAndNoAlignedMemory(Engine engine) throws Exception {
        byte[] content = new byte[4 * BLOCK];
        new Random(5).nextBytes(content);
        try (RandomAccess access = RandomAccess.builder().engine(engine).direct(true).writable(true).create(true).open(file)) {
            OpenFile single = access.file(0);
            ByteBuffer misaligned = ByteBuffer.allocateDirect(6 * BLOCK).alignedSlice(BLOCK).slice(1, 4 * BLOCK);
            misaligned.put(content).flip();
            assertEquals(content.length, single.writeAsync(misaligned, 0).get());
            assertArrayEquals(content, Files.readAllBytes(file));
            ByteBuffer aligned = ByteBuffer.allocateDirect(5 * BLOCK).alignedSlice(BLOCK).limit(BLOCK);
            for (ByteBuffer buffer : List.of(misaligned.clear().limit(BLOCK), ByteBuffer.allocate(BLOCK), aligned)) {
                assertEquals(BLOCK, single.read(buffer, BLOCK));
                assertEquals(-1, single.read(buffer.flip(), 4 * BLOCK));
                byte[] read = new byte[BLOCK];
                buffer.get(read);
                assertArrayEquals(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK), read);
            }
            ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
            String multiples = " (both in multiples of " + single.alignment() + "): invalid argument (EINVAL)";
            assertEquals("read of 4096 bytes at offset 100 of " + file + multiples,
                    assertThrows(RandomAccessException.class, () -> single.read(buffer, 100)).getMessage());
            assertEquals("write of 100 bytes at offset 0 of " + file + multiples,
                    assertThrows(CompletionException.class, () -> single.writeAsync(buffer.duplicate().limit(100), 0).join()).getCause().getMessage());
        }
        assertArrayEquals(content, Files.readAllBytes(file));
    }

    @Test
    void spaceThatThereIsNotIsNotReserved() throws IOException {
        try (RandomAccess access = RandomAccess.builder().writable(true).create(true).open(file)) {
            RandomAccessException failure = assertThrows(RandomAccessException.class, () -> access.file(0).allocate(0, 1L << 30));
            assertEquals("allocation of 1073741824 bytes at offset 0 of " + file + ": no space left on the device (ENOSPC)", failure.getMessage());
            assertEquals(27, assertThrows(RandomAccessException.class, () -> access.file(0).truncate(1L << 62)).errno());
        }
    }

    @Test
    void aDeviceInUseIsNotWritten() throws IOException {
        Path device = Path.of(System.getenv("FATHOM_JVM_DEVICE"));
        RandomAccessException failure =
                assertThrows(RandomAccessException.class, () -> RandomAccess.builder().writable(true).buffer(BLOCK).open(device));
        assertEquals("opening " + device + ": in use (EBUSY)", failure.getMessage());
        try (RandomAccess access = RandomAccess.builder().direct(true).buffer(BLOCK).open(device)) {
            assertTrue(access.size(0) > 0);
            Batch batch = access.newBatch(1).read(0, BLOCK, 0);
            access.run(batch);
            batch.check();
        }
    }
}

package dev.fathom.io;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.function.Consumer;

/** Finds the native library: the file named by the property {@code dev.fathom.library}, or the one inside the jar. */
final class NativeLibrary {
    private NativeLibrary() {}

    /** Passes the library's path to {@code load}. A copy from the jar is removed afterwards; the process keeps it mapped. */
    static void load(Consumer<Path> load) {
        String named = System.getProperty("dev.fathom.library");
        if (named != null) {
            load.accept(Path.of(named).toAbsolutePath());
            return;
        }
        String resource = "linux-" + architecture() + "/libfathom_jvm.so";
        try (InputStream packed = NativeLibrary.class.getResourceAsStream(resource)) {
            if (packed == null) {
                throw new UnsatisfiedLinkError("this jar has no " + resource + ": fathom's RandomAccess runs on Linux with x86_64 or aarch64;"
                        + " -Ddev.fathom.library=PATH names a library of one's own");
            }
            Path copy = Files.createTempFile("libfathom_jvm", ".so");
            try {
                Files.copy(packed, copy, StandardCopyOption.REPLACE_EXISTING);
                load.accept(copy);
            } finally {
                Files.deleteIfExists(copy);
            }
        } catch (IOException error) {
            UnsatisfiedLinkError failed = new UnsatisfiedLinkError("the native library could not be unpacked into "
                    + System.getProperty("java.io.tmpdir") + ": " + error.getMessage()
                    + "; set -Djava.io.tmpdir to a directory that can be written, or name the library with -Ddev.fathom.library=PATH");
            failed.initCause(error);
            throw failed;
        }
    }

    private static String architecture() {
        String name = System.getProperty("os.arch");
        return name.equals("amd64") ? "x86_64" : name;
    }
}

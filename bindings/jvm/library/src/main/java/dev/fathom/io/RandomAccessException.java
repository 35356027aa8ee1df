package dev.fathom.io;

import java.io.IOException;

/** The kernel, or a check before the system call, rejected an operation. The message names the operation, the file and a possible remedy. */
public final class RandomAccessException extends IOException {
    private static final long serialVersionUID = 1L;

    static final int EBUSY = 16;
    static final int ESHUTDOWN = 108;

    /** The Linux error number. */
    private final int errno;

    RandomAccessException(String what, int errno) {
        super(what + ": " + text(errno));
        this.errno = errno;
    }

    /**
     * Returns the Linux error number.
     *
     * @return a positive number, such as 28 for {@code ENOSPC}
     */
    public int errno() {
        return errno;
    }

    static String text(int errno) {
        return switch (errno) {
            case 1 -> "operation not permitted (EPERM)";
            case 2 -> "no such file or directory (ENOENT)";
            case 5 -> "input/output error (EIO)";
            case 9 -> "the file is not open for this (EBADF); open it with writable(true) to write";
            case 12 -> "out of memory that may be locked (ENOMEM); see ulimit -l";
            case 13 -> "permission denied (EACCES)";
            case 16 -> "in use (EBUSY)";
            case 20 -> "a part of the path is not a directory (ENOTDIR)";
            case 21 -> "is a directory (EISDIR)";
            case 22 -> "invalid argument (EINVAL)";
            case 24 -> "too many open files (EMFILE); see ulimit -n";
            case 27 -> "file too large (EFBIG)";
            case 28 -> "no space left on the device (ENOSPC)";
            case 30 -> "read-only file system (EROFS)";
            case 38 -> "not built into this kernel, or forbidden by seccomp (ENOSYS)";
            case 95 -> "not supported by this file system (EOPNOTSUPP)";
            case 108 -> "closed meanwhile (ESHUTDOWN)";
            case 122 -> "disk quota exceeded (EDQUOT)";
            default -> "error number " + errno;
        };
    }
}

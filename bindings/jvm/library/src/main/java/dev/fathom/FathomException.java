package dev.fathom;

import java.io.IOException;

/** The program could not be started, rejected its input, or ended without a result. The message quotes the program. */
public final class FathomException extends IOException {
    private static final long serialVersionUID = 1L;

    FathomException(String message) {
        super(message);
    }

    FathomException(String message, Throwable cause) {
        super(message, cause);
    }
}

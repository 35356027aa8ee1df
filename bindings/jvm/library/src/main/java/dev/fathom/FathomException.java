package dev.fathom;

import java.io.IOException;

/** The program could not be started, refused what it was given, or did not end with a result. The message has its own words. */
public final class FathomException extends IOException {
    private static final long serialVersionUID = 1L;

    FathomException(String message) {
        super(message);
    }

    FathomException(String message, Throwable cause) {
        super(message, cause);
    }
}

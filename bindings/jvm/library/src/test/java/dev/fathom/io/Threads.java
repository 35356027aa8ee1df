package dev.fathom.io;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Runs work of a test in several threads. */
final class Threads {
    private Threads() {}

    interface Work {
        void run(int number) throws Exception;
    }

    /** Runs the work in this many threads and rethrows any exception. */
    static void inThreads(int count, Work work) throws Exception {
        List<CompletableFuture<Void>> results = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            int own = number;
            CompletableFuture<Void> result = new CompletableFuture<>();
            results.add(result);
            new Thread(() -> {
                try {
                    work.run(own);
                    result.complete(null);
                } catch (Throwable failure) {
                    result.completeExceptionally(failure);
                }
            }).start();
        }
        for (CompletableFuture<Void> result : results) {
            result.get();
        }
    }
}

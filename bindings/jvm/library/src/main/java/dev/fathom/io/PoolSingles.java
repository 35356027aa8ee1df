package dev.fathom.io;

import java.nio.channels.AsynchronousCloseException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Without io_uring, a few threads each execute one read or write at a time. */
final class PoolSingles implements Singles {
    private static final int THREADS = 8;

    private final Session session;
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(THREADS, THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
        Thread thread = new Thread(task, "fathom-preadv");
        thread.setDaemon(true);
        return thread;
    });

    PoolSingles(Session session) {
        this.session = session;
        threads.allowCoreThreadTimeOut(true);
    }

    @Override
    public void begin(Operation operation) {
        threads.execute(() -> perform(operation));
    }

    @Override
    public void stop() {
        session.finish();
    }

    private void perform(Operation operation) {
        if (!operation.take()) {
            return;
        }
        if (!session.tryEnter()) {
            operation.fail(new AsynchronousCloseException());
            return;
        }
        int answer;
        try {
            answer = NativeCalls.ringSingle(session.handle, operation.kind, operation.file, operation.address, operation.length, operation.offset);
        } finally {
            session.exit();
        }
        operation.finish(answer);
    }
}

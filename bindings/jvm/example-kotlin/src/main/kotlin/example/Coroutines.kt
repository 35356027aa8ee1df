package example

import dev.fathom.io.OpenFile
import dev.fathom.io.RandomAccess
import java.nio.ByteBuffer
import java.nio.file.Path
import kotlin.random.Random
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.asExecutor
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.future.await
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext

/** Suspends until the read is complete, even if the coroutine is cancelled: until then the kernel may write to the buffer. */
suspend fun OpenFile.readSuspending(destination: ByteBuffer, offset: Long): Int =
    withContext(NonCancellable) { readAsync(destination, offset).await() }

/** Reads 1,024 random blocks of a file with 64 coroutines. */
fun main() = runBlocking {
    RandomAccess.builder().executor(Dispatchers.Default.asExecutor()).open(Path.of("first.data")).use { access ->
        val file = access.file(0)
        val blocks = file.size() / 4096
        val bytes = List(64) {
            async(Dispatchers.Default) {
                val buffer = ByteBuffer.allocateDirect(4096)
                (1..16).sumOf { file.readSuspending(buffer.clear(), Random.nextLong(blocks) * 4096) }
            }
        }.awaitAll().sum()
        println("$bytes bytes read with ${access.engine()}")
    }
}

package dev.fathom;

/**
 * The result of one job: a clone, or a group with {@code group_reporting}.
 *
 * @param name its name
 * @param error the Linux error number that ended it; 0 if it succeeded
 * @param read its reads @param write its writes @param trim its trims @param
 * userCpuPercent user-mode CPU time in percent of the run time @param
 * systemCpuPercent kernel-mode CPU time in percent of the run time
 */
public record JobResult(
        String name, int error, Direction read, Direction write, Direction trim, double userCpuPercent, double systemCpuPercent) {
    static JobResult of(Json job) {
        return new JobResult(job.get("jobname").text(), (int) job.get("error").integer(), Direction.of(job.get("read")),
                Direction.of(job.get("write")), Direction.of(job.get("trim")), job.get("usr_cpu").number(), job.get("sys_cpu").number());
    }
}

//! A block trace of one device, as written by the kernel.
//!
//! The kernel's block tracer in tracefs produces the records of blktrace, and works even if a locked down
//! kernel denies blktrace access to its files.

use super::skip;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = "/sys/kernel/tracing";
/// The value of `O_NONBLOCK` on Linux.
const NONBLOCKING: i32 = 0o4000;

/// The running tracer; dropping it restores the previous state.
pub(crate) struct KernelTrace {
    enable: PathBuf,
    /// Closed before the tracer is switched, which it would block.
    pipe: Option<File>,
}

impl KernelTrace {
    /// Traces the device from now on.
    pub(crate) fn start(device: &Path) -> Result<KernelTrace, String> {
        skip::root()?;
        if !Path::new(ROOT).join("current_tracer").exists() {
            // The next read shows whether that worked.
            let _ = Command::new("mount").args(["-t", "tracefs", "none", ROOT]).status();
        }
        let tracers = read("available_tracers")?;
        if !tracers.split_whitespace().any(|tracer| tracer == "blk") {
            return Err("the kernel has no block tracer (CONFIG_BLK_DEV_IO_TRACE)".into());
        }
        if read("current_tracer")?.trim() != "nop" {
            return Err("the kernel's tracer is in use".into());
        }
        let name = device.file_name().ok_or("a device has a name")?.to_string_lossy().into_owned();
        let enable = PathBuf::from(format!("/sys/block/{name}/trace/enable"));
        for (file, value) in [("options/bin", "1"), ("options/context-info", "0"), ("current_tracer", "blk")]
        {
            write(&Path::new(ROOT).join(file), value)?;
        }
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(NONBLOCKING)
            .open(Path::new(ROOT).join("trace_pipe"))
            .map_err(|error| format!("trace_pipe: {error}"))?;
        let trace = KernelTrace { enable, pipe: Some(pipe) };
        write(&trace.enable, "1")?;
        Ok(trace)
    }

    /// Ends the trace; returns the rest of it.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let _ = write(&self.enable, "0");
        let (mut trace, mut part) = (Vec::new(), vec![0; 1 << 16]);
        // Non-blocking: the end shows as an error that asks to try again.
        if let Some(mut pipe) = self.pipe.take() {
            while let Ok(count) = pipe.read(&mut part) {
                if count == 0 {
                    break;
                }
                trace.extend_from_slice(&part[..count]);
            }
        }
        trace
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        let root = Path::new(ROOT);
        self.pipe = None;
        let _ = write(&self.enable, "0");
        for (file, value) in [("current_tracer", "nop"), ("options/bin", "0"), ("options/context-info", "1")]
        {
            let _ = write(&root.join(file), value);
        }
    }
}

fn read(name: &str) -> Result<String, String> {
    fs::read_to_string(Path::new(ROOT).join(name)).map_err(|error| format!("{ROOT}/{name}: {error}"))
}

fn write(path: &Path, value: &str) -> Result<(), String> {
    fs::write(path, value).map_err(|error| format!("{}: {error}", path.display()))
}

//! Requests of io_uring. The ring's events say which descriptor a request uses and how it ends; the file system's events between the
//! submission of one request and that of the next say where it reads or writes.

use super::follow::Follower;
use super::kernel::Event;
use super::requests::Request;
use fathom_trace::files::Operation;

/// Requests in flight that are followed; more are those whose completion was not seen.
const MOST: usize = 1 << 16;

impl Follower {
    /// An event of a ring.
    pub(super) fn ring(&mut self, time_ns: u64, tid: u32, event: Event) {
        match event {
            Event::Submit { request, opcode } => {
                self.submitted(time_ns, tid, request, super::calls::of_ring(opcode))
            }
            Event::RingFile { request, descriptor } => self.uses(tid, request, descriptor),
            Event::Punt { request } => {
                if let Some(task) = self.tasks.known(tid).filter(|task| task.request == Some(request)) {
                    task.request = None;
                }
            }
            Event::Complete { request, result } => self.completed(time_ns, request, result),
            Event::Place { device, inode, offset, length } => {
                self.place(tid, (device, inode), offset, length)
            }
            _ => {}
        }
    }

    fn submitted(&mut self, time_ns: u64, tid: u32, request: u64, operation: Option<Operation>) {
        // The address is used again: its former request is over.
        self.requests.remove(&request);
        if let Some(operation) = operation {
            let serial = self.call(time_ns, tid, operation, 0, None, 0);
            if let Some(call) = self.queue.call(serial) {
                call.is_ring = true;
            }
            if self.requests.len() >= MOST {
                self.requests.clear();
            }
            self.requests.insert(request, Request { serial, inode: None });
        }
        self.tasks.get(tid, &mut self.files).request = operation.map(|_| request);
    }

    fn uses(&mut self, tid: u32, request: u64, descriptor: i32) {
        let Some(&Request { serial, .. }) = self.requests.get(&request) else { return };
        match self.open(tid, descriptor) {
            Some(open) => {
                let file = open.borrow().file;
                if let Some(call) = self.queue.call(serial) {
                    call.file = file;
                }
            }
            None => {
                self.queue.void(serial);
                self.requests.remove(&request);
            }
        }
    }

    fn place(&mut self, tid: u32, inode: (u32, u64), offset: u64, length: Option<u64>) {
        let request = self.tasks.known(tid).and_then(|task| task.request);
        let Some(request) = request.and_then(|request| self.requests.get_mut(&request)) else { return };
        let file = self.files.by_inode(inode.0, inode.1);
        let Some(call) = self.queue.call(request.serial) else { return };
        // A file of the ring has no descriptor; its inode says which it is. Another inode than that of the descriptor is not what was
        // asked for.
        let moves = matches!(call.operation, Operation::Read | Operation::Write);
        let is_same = match file {
            Some(file) => call.file == 0 || call.file == file,
            // Not looked up yet, neither is the file of the descriptor.
            None => call.file == 0 || self.files.end(call.file).is_none(),
        };
        if moves && is_same && call.offset.is_none() {
            call.file = file.unwrap_or(call.file);
            call.offset = Some(offset);
            call.length = call.length.max(length.unwrap_or(0));
            request.inode = Some(inode);
        }
    }

    fn completed(&mut self, time_ns: u64, request: u64, result: i64) {
        let Some(Request { serial, inode }) = self.requests.remove(&request) else { return };
        // A file that was looked up only now.
        let file = inode.and_then(|(device, inode)| self.files.by_inode(device, inode));
        if let Some(call) = self.queue.call(serial).filter(|call| call.file == 0) {
            call.file = file.unwrap_or(0);
        }
        if let Some(call) = self.queue.call(serial)
            && matches!(call.operation, Operation::Read | Operation::Write)
        {
            call.length = call.length.max(result.max(0).unsigned_abs());
        }
        self.queue.end(serial, time_ns, result, &mut self.done);
    }
}

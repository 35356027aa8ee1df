//! Directory trees, whose shape determines the number of files.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Number of directories in a tree: the root, and `depth` levels below it with `width` directories in each
/// directory of the level above. `None` on overflow.
pub fn directories(width: u32, depth: u32) -> Option<u32> {
    let mut of_level: u32 = 1;
    let mut all: u32 = 1;
    for _ in 0..depth {
        of_level = of_level.checked_mul(width)?;
        all = all.checked_add(of_level)?;
    }
    Some(all)
}

/// Derives the number of files from the shape of the tree, and refuses options that would name them.
pub(super) fn shape_tree(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let name = job.name.clone();
    if job.file.tree_files == 0 {
        let given = ["tree_width", "tree_depth"].into_iter().find(|option| job.is_set(option));
        let Some(option) = given else { return Ok(()) };
        let problem = format!(
            "job {name}: {option}= has no effect without tree_files=; give tree_files=, or leave {option}= out"
        );
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    let other =
        ["nrfiles", "filename", "opendir", "read_iolog"].into_iter().find(|option| job.is_set(option));
    if let Some(option) = other {
        let problem = format!(
            "job {name}: {option}= and tree_files= both say which files there are; leave one of them out"
        );
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    let (width, depth) = (job.file.tree_width, job.file.tree_depth);
    let files = directories(width, depth).and_then(|count| count.checked_mul(job.file.tree_files));
    let Some(files) = files else {
        let problem = format!(
            "job {name}: a tree of tree_depth={depth} and tree_width={width} with tree_files={} has too many files; use smaller numbers",
            job.file.tree_files
        );
        return Err(review.refuse_in_our_words(&job.origin, problem));
    };
    job.file.nrfiles = files;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};
    use super::directories;

    #[test]
    fn shapes_have_so_many_directories() {
        assert_eq!(directories(1, 0), Some(1));
        assert_eq!(directories(3, 2), Some(13));
        assert_eq!(directories(1, 64), Some(65));
        assert_eq!(directories(10, 64), None);
    }

    #[test]
    fn a_tree_says_how_many_files_there_are() {
        let words = "--name=a --size=1m --tree_files=10 --tree_width=3 --tree_depth=2";
        assert_eq!(quiet_job(words).file.nrfiles, 130);
        for wrong in [
            "--name=a --size=1m --tree_depth=2",
            "--name=a --size=1m --tree_files=10 --nrfiles=5",
            "--name=a --size=1m --tree_files=10 --filename=x",
            "--name=a --size=1m --tree_files=10 --tree_depth=64 --tree_width=99",
        ] {
            refusal(wrong);
        }
    }
}

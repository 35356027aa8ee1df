//! The first screen: the common tasks, before the long list of options.

use fathom_answers::COMMANDS;
use std::fmt::Write as _;

/// At most 24 lines of 80 columns.
pub(crate) fn first_screen() -> String {
    let mut text = format!(
        "fathom {}: a storage tester. It takes the job files and options of fio 3.42.\n\nCommands \
         (fathom COMMAND --help explains one):\n",
        fathom_spec::VERSION
    );
    for command in COMMANDS {
        let call = format!("{} {}", command.name, command.arguments);
        let _ = writeln!(text, "  {call:<28}{}", command.summary);
    }
    text.push_str(
        "\nJobs, as in fio:\n  \
         fathom job.fio                                run a job file (--live: watch)\n  \
         fathom --name=a --rw=randread --size=1g ...   the same, as options\n  \
         fathom --output-format=json+ --output=FILE job.fio   save the result\n\n\
         More: fathom --cmdhelp, --enghelp (options, engines), tools, man, completion\n",
    );
    text
}

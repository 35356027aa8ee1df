//! Report formats, as far as the command line needs to know them.
//!
//! They are declared next to the code that writes them, in `fathom-report`. The parser learns of them through
//! [`Source::formats`](crate::Source::formats).

use std::time::Duration;

/// All properties of a report format, except for the code that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatDeclaration {
    /// Name of the format in `--output-format`.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Names that stand for another format unless the program is called `fio`.
    pub words_of_fio: &'static [&'static str],
    /// True for the format for people, which is printed together with messages and with the lines before a run.
    /// It is the default.
    pub for_people: bool,
    /// Why the format excludes other formats and messages from the same output; `None` if it does not.
    pub stands_alone: Option<&'static str>,
    /// Interval of reports during the run, unless `--status-interval` says otherwise.
    pub every: Option<Duration>,
    /// True if the format includes the timeline.
    pub timeline: bool,
    /// True if the format includes the verdict on the result.
    pub verdict: bool,
    /// Formats whose content this format includes completely, so that they are omitted.
    pub includes: &'static [&'static str],
}

impl FormatDeclaration {
    /// The base that declarations fill in.
    pub const BLANK: FormatDeclaration = FormatDeclaration {
        name: "",
        aliases: &[],
        words_of_fio: &[],
        for_people: false,
        stands_alone: None,
        every: None,
        timeline: false,
        verdict: false,
        includes: &[],
    };
}

/// The format with this name or alias.
pub(crate) fn find(formats: &[&'static FormatDeclaration], word: &str) -> Option<&'static FormatDeclaration> {
    formats.iter().copied().find(|format| format.name == word || format.aliases.contains(&word))
}

/// The format for which this word stands in fio.
pub(crate) fn find_as_fio(
    formats: &[&'static FormatDeclaration],
    word: &str,
) -> Option<&'static FormatDeclaration> {
    let of_fio = formats.iter().copied().find(|format| format.words_of_fio.contains(&word));
    of_fio.or_else(|| find(formats, word))
}

/// The names as help lists them: the format for people, then the others alphabetically.
pub(crate) fn names(formats: &[&'static FormatDeclaration]) -> Vec<&'static str> {
    let mut listed = formats.to_vec();
    listed.sort_by_key(|format| (!format.for_people, format.name));
    listed.into_iter().map(|format| format.name).collect()
}

/// The formats for help, such as `normal, json, terse; or jsonl`: first those that can be combined, then those
/// that exclude others.
pub(crate) fn help(formats: &[&'static FormatDeclaration]) -> String {
    let stands_alone = |name: &&str| find(formats, name).is_some_and(|format| format.stands_alone.is_some());
    let (alone, together): (Vec<&str>, Vec<&str>) = names(formats).into_iter().partition(stands_alone);
    std::iter::once(together.join(", "))
        .chain(alone.into_iter().map(str::to_owned))
        .collect::<Vec<_>>()
        .join("; or ")
}

/// The formats that may be requested, such as `normal, terse, json or jsonl`.
pub(crate) fn expected(formats: &[&'static FormatDeclaration]) -> String {
    let mut listed = formats.to_vec();
    listed.sort_by_key(|format| !format.for_people);
    let names: Vec<&str> = listed.into_iter().map(|format| format.name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FORMATS;

    #[test]
    fn the_one_for_people_is_listed_first_and_loners_last() {
        assert_eq!(names(FORMATS), ["normal", "json", "lines", "terse"]);
        assert_eq!(help(FORMATS), "normal, json, terse; or lines");
        assert_eq!(expected(FORMATS), "normal, terse, json or lines");
    }

    #[test]
    fn aliases_find_their_form() {
        assert_eq!(find(FORMATS, "minimal").map(|format| format.name), Some("terse"));
        assert_eq!(find(FORMATS, "json+"), None);
    }

    #[test]
    fn a_word_of_fios_means_what_fio_means_by_it_only_there() {
        let name = |format: Option<&FormatDeclaration>| format.map(|format| format.name);
        assert_eq!(name(find(FORMATS, "sheet")), None);
        assert_eq!(name(find_as_fio(FORMATS, "sheet")), Some("terse"));
        assert_eq!(name(find_as_fio(FORMATS, "json")), Some("json"));
    }
}

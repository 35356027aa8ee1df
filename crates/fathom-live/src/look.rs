//! Capabilities of a terminal: colours, and characters beyond ASCII.

use fathom_stats::Direction;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::{bar, line};

/// The look of a screen. Colours only repeat information that the text contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Use colours.
    pub colours: bool,
    /// True if characters beyond ASCII may be used.
    pub unicode: bool,
}

/// Terminals without colours and without chart characters.
const DUMB_TERMINALS: [&str; 4] = ["dumb", "unknown", "vt52", "vt100"];
/// Terminals that lack colours.
const MONOCHROME_TERMINALS: [&str; 3] = ["vt102", "vt220", "vt320"];

impl Look {
    /// Determines the look from the environment: `NO_COLOR`, `TERM` and the locale.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Look {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let terminal = set("TERM").unwrap_or_default();
        let family = terminal.split('-').next().unwrap_or_default();
        let is_dumb = terminal.is_empty() || DUMB_TERMINALS.contains(&family);
        let is_monochrome = MONOCHROME_TERMINALS.contains(&family)
            || terminal.split('-').skip(1).any(|part| matches!(part, "m" | "mono"));
        // Most containers and remote shells set no locale, although their terminals support UTF-8.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name));
        let knows_utf8 = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Look {
            colours: !is_dumb && !is_monochrome && set("NO_COLOR").is_none(),
            // The font of the kernel's console lacks many of the characters.
            unicode: knows_utf8 && !is_dumb && family != "linux",
        }
    }

    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Returns the style of charts and figures for reads, writes and trims.
    pub(crate) fn direction(self, direction: Direction) -> Style {
        self.colour([Color::Cyan, Color::Yellow, Color::Magenta][direction.index()])
    }

    /// Returns the style of latency charts.
    pub(crate) fn latency(self) -> Style {
        self.colour(Color::Green)
    }

    /// Returns the style of queue charts and bars.
    pub(crate) fn bar(self) -> Style {
        self.colour(Color::Blue)
    }

    /// Returns the style of errors.
    pub(crate) fn alarm(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of column headings.
    pub(crate) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of notices that must not be missed.
    pub(crate) fn notice(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the character of horizontal rules.
    pub(crate) fn rule(self) -> &'static str {
        if self.unicode { line::HORIZONTAL } else { "-" }
    }

    /// Returns the character that marks truncated text.
    pub(crate) fn ellipsis(self) -> char {
        if self.unicode { '…' } else { '~' }
    }

    /// Returns the characters of charts, from empty to full.
    pub(crate) fn bars(self) -> bar::Set<'static> {
        if self.unicode {
            return bar::NINE_LEVELS;
        }
        bar::Set {
            full: "#",
            seven_eighths: "%",
            three_quarters: "*",
            five_eighths: "+",
            half: "=",
            three_eighths: "-",
            one_quarter: ":",
            one_eighth: ".",
            empty: " ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(variables: &[(&str, &str)]) -> (bool, bool) {
        let found = |name: &str| variables.iter().find(|(set, _)| *set == name);
        let look = Look::of_environment(|name| found(name).map(|(_, value)| (*value).to_owned()));
        (look.colours, look.unicode)
    }

    #[test]
    fn terminals() {
        for (terminal, expected) in [
            ("xterm-256color", (true, true)),
            ("screen.xterm-256color", (true, true)),
            ("linux", (true, false)),
            ("xterm-mono", (false, true)),
            ("vt220", (false, true)),
            ("vt100", (false, false)),
            ("dumb", (false, false)),
            ("", (false, false)),
        ] {
            assert_eq!(look(&[("TERM", terminal)]), expected, "{terminal}");
        }
    }

    #[test]
    fn wishes_and_locales() {
        let xterm = ("TERM", "xterm");
        assert_eq!(look(&[xterm, ("NO_COLOR", "1")]), (false, true));
        assert_eq!(look(&[xterm, ("NO_COLOR", "")]), (true, true));
        assert_eq!(look(&[xterm, ("LANG", "C")]), (true, false));
        assert_eq!(look(&[xterm, ("LANG", "de_DE.UTF-8")]), (true, true));
        assert_eq!(look(&[xterm, ("LC_ALL", "C.utf8"), ("LANG", "C")]), (true, true));
    }
}

//! The page and its parts, all embedded in the program.

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $media_type:ident) => {
        Asset { name: $name, media_type: $media_type, text: include_str!(concat!("assets/", $name)) }
    };
}

/// All files; the first is the page.
pub(crate) const ASSETS: &[Asset] = &[
    asset!("index.html", HTML),
    Asset { name: "report.css", media_type: STYLE, text: fathom_answers::HISTORY_STYLE },
    Asset { name: "cursor.js", media_type: SCRIPT, text: fathom_answers::HISTORY_SCRIPT },
    asset!("history.css", STYLE),
    asset!("style.css", STYLE),
    asset!("main.js", SCRIPT),
    asset!("server.js", SCRIPT),
    asset!("elements.js", SCRIPT),
    asset!("figures.js", SCRIPT),
    asset!("editor.js", SCRIPT),
    asset!("completion.js", SCRIPT),
    asset!("forecast.js", SCRIPT),
    asset!("forms.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("chart.js", SCRIPT),
    asset!("runs.js", SCRIPT),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere_and_only_for_what_there_is() {
        for asset in ASSETS {
            for outside in ["https://", "@import", "url(", "eval(", "innerHTML", " style=\"", " onclick="] {
                assert!(!asset.text.contains(outside), "{}: {outside}", asset.name);
            }
            for line in asset.text.lines().filter(|line| line.starts_with("import ")) {
                let name = line.rsplit_once("\"./").and_then(|(_, rest)| rest.strip_suffix("\";"));
                assert!(ASSETS.iter().any(|other| Some(other.name) == name), "{}: {line}", asset.name);
            }
        }
    }
}

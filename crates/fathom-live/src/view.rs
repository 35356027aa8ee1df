//! The content of the view and the effects of keys.

use crate::keys::Key;
use crate::layout::{Layout, Section};
use crate::look::Look;
use crate::sections::{
    devices, first_row, header, help, hosts, jobs, latency, messages, put_heading, queue, rates,
};
use crate::state::State;
use fathom_stats::live::{LiveDetails, LiveTick};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// A view of a run.
#[derive(Debug)]
pub struct View {
    look: Look,
    state: State,
    /// State of the run at the time when the view was frozen.
    held: Option<State>,
    /// Number of jobs scrolled off the top of the screen.
    scroll: usize,
    shows_help: bool,
}

impl View {
    /// Creates a view of a run that has not reported any figures yet.
    pub fn new(look: Look) -> View {
        View { look, state: State::default(), held: None, scroll: 0, shows_help: false }
    }

    /// Adds the figures of a new tick.
    pub fn advance(&mut self, tick: &LiveTick, details: &LiveDetails) {
        self.state.advance(tick, details);
    }

    /// Adds a message.
    pub fn add_message(&mut self, text: &str) {
        self.state.add_message(text);
    }

    /// Handles a key on a screen with this many rows. [`Key::Stop`] has no effect on the view, because the
    /// caller stops the run.
    pub fn press(&mut self, key: Key, height: u16) {
        let state = self.shown();
        let (count, page) = (state.details.jobs.len(), Layout::of(state, height).job_rows());
        let last = count.saturating_sub(page);
        let scroll = self.scroll.min(last);
        match key {
            Key::Stop => {}
            Key::Pause if self.held.take().is_none() => self.held = Some(self.state.clone()),
            Key::Pause => {}
            Key::Help => self.shows_help = !self.shows_help,
            Key::Up => self.scroll = scroll.saturating_sub(1),
            Key::Down => self.scroll = (scroll + 1).min(last),
            Key::PageUp => self.scroll = scroll.saturating_sub(page),
            Key::PageDown => self.scroll = (scroll + page).min(last),
        }
    }

    fn shown(&self) -> &State {
        self.held.as_ref().unwrap_or(&self.state)
    }

    /// Draws all sections; the buffer must be empty.
    pub fn draw(&self, buffer: &mut Buffer) {
        let (state, look) = (self.shown(), self.look);
        let mut area = buffer.area;
        let layout = Layout::of(state, area.height);
        for (section, height) in layout.sections() {
            let mut part = Rect { height, ..area };
            area = Rect { y: area.y + height, height: area.height - height, ..area };
            if let Some(text) = heading_of(section, state).filter(|_| layout.has_headings) {
                let (row, rest) = first_row(part);
                put_heading(buffer, row, &text, look);
                part = rest;
            }
            match section {
                Section::Header => header::draw(buffer, part, state, self.held.is_some(), look),
                Section::Rates => rates::draw(buffer, part, state, look),
                Section::Latency => latency::draw(buffer, part, state, look),
                Section::Queue => queue::draw(buffer, part, state, look),
                Section::Jobs => jobs::draw(buffer, part, state, self.scroll, look),
                Section::Hosts => hosts::draw(buffer, part, state, look),
                Section::Devices => devices::draw(buffer, part, state, look),
                Section::Messages => messages::draw(buffer, part, state, look),
            }
        }
        if self.shows_help {
            help::draw(buffer, buffer.area, look);
        }
    }
}

fn heading_of(section: Section, state: &State) -> Option<String> {
    match section {
        Section::Header | Section::Jobs | Section::Hosts => None,
        Section::Rates => Some(rates::heading(state)),
        Section::Latency => Some(latency::heading(state)),
        Section::Queue => Some(queue::heading(state)),
        Section::Devices => Some(devices::heading()),
        Section::Messages => Some(messages::heading()),
    }
}

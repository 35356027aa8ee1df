//! The kernel's descriptions of binary layouts: the files `format` of its events, and `header_page`.

/// One field of a layout, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

impl Field {
    /// The number in this field; `None` if the bytes are too few, or the field is not a number.
    #[inline]
    pub(crate) fn number(self, bytes: &[u8]) -> Option<u64> {
        let field = bytes.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match self.size {
            1 => u64::from(field[0]),
            2 => u64::from(u16::from_ne_bytes(field.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(field.try_into().ok()?)),
            8 => u64::from_ne_bytes(field.try_into().ok()?),
            _ => return None,
        })
    }

    /// All bytes of this field; none if the bytes are too few.
    #[inline]
    pub(crate) fn bytes(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.offset..self.offset.saturating_add(self.size)).unwrap_or_default()
    }

    /// The text in this field, up to a NUL.
    pub(crate) fn text(self, bytes: &[u8]) -> &[u8] {
        let field = self.bytes(bytes);
        &field[..field.iter().position(|byte| *byte == 0).unwrap_or(field.len())]
    }
}

/// A layout: its number, if it is that of an event, and its fields by name.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) id: Option<u16>,
    fields: Vec<(String, Field)>,
}

impl Format {
    pub(crate) fn parse(text: &str) -> Format {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        Format { id, fields: text.lines().filter_map(field).collect() }
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, field)| *field)
    }

    /// The arguments of a system call, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Field> {
        let is_argument = |name: &str| !name.starts_with("common_") && name != "__syscall_nr";
        self.fields.iter().filter(move |(name, _)| is_argument(name)).map(|(_, field)| *field)
    }
}

/// `field:sector_t sector; offset:16; size:8; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    // The length of an array is after its name, but before that of an array of variable length.
    let declaration = match declaration.strip_suffix(']') {
        Some(array) => array.split('[').next()?,
        None => declaration,
    };
    let name = declaration.rsplit([' ', '*']).next()?.to_owned();
    let mut number = |word: &str| parts.next()?.strip_prefix(word)?.parse().ok();
    Some((name, Field { offset: number("offset:")?, size: number("size:")? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "\
name: block_rq_issue
ID: 2104
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;

print fmt: \"%d\", REC->dev
";

    #[test]
    fn fields_have_names_places_and_sizes() {
        let format = Format::parse(ISSUE);
        assert_eq!(format.id, Some(2104));
        assert_eq!(format.field("dev"), Some(Field { offset: 8, size: 4 }));
        assert_eq!(format.field("rwbs"), Some(Field { offset: 34, size: 10 }));
        assert_eq!(format.field("common_type"), Some(Field { offset: 0, size: 2 }));
        assert_eq!(format.field("cmd"), Some(Field { offset: 60, size: 4 }));
        assert_eq!(format.field("sector"), None);
        let header = Format::parse("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
        assert_eq!((header.id, header.field("timestamp")), (None, Some(Field { offset: 0, size: 8 })));
    }

    #[test]
    fn what_is_too_short_has_no_number() {
        let field = Field { offset: 2, size: 4 };
        assert_eq!(field.number(&[0; 5]), None);
        assert_eq!(field.number(&[0, 0, 1, 1, 1, 1]), Some(0x0101_0101));
        assert_eq!(Field { offset: 0, size: 10 }.number(&[0; 10]), None);
        assert_eq!(Field { offset: 1, size: 4 }.text(b"xWS\0\0"), b"WS");
        assert_eq!(Field { offset: usize::MAX, size: 4 }.text(b"x"), b"");
    }
}

//! Values of columns and parameters, the same for both databases.

use crate::Error;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<u64> for Value {
    /// Numbers beyond the range of the databases become the largest that they hold.
    fn from(number: u64) -> Value {
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

/// One row of an answer. Values are taken by the type that the query is known to give; another one means that
/// the store was changed by someone else.
#[derive(Clone, Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    pub(crate) fn int(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            _ => Err(self.unexpected(column, "a whole number")),
        }
    }

    pub(crate) fn count(&self, column: usize) -> Result<u64, Error> {
        Ok(u64::try_from(self.int(column)?).unwrap_or(0))
    }

    /// A position; `None` for a missing one.
    pub(crate) fn index(&self, column: usize) -> Result<Option<usize>, Error> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => Ok(usize::try_from(self.int(column)?).ok()),
        }
    }

    pub(crate) fn real(&self, column: usize) -> Result<f64, Error> {
        match self.0.get(column) {
            Some(Value::Real(number)) => Ok(*number),
            Some(Value::Int(number)) => Ok(*number as f64),
            _ => Err(self.unexpected(column, "a number")),
        }
    }

    /// Text; empty for a missing one, as of an outer join.
    pub(crate) fn text(&self, column: usize) -> Result<String, Error> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text.clone()),
            Some(Value::Null) => Ok(String::new()),
            _ => Err(self.unexpected(column, "text")),
        }
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self.0.get(column) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.unexpected(column, "binary data")),
        }
    }

    fn unexpected(&self, column: usize, wanted: &str) -> Error {
        Error::Damaged { what: format!("column {} of a row is not {wanted}", column + 1) }
    }
}

/// Text without NUL, which PostgreSQL does not store.
pub(crate) fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

//! A JSON value with ordered keys, and the layout that readers of fio's JSON know: two blanks per level,
//! `"key" : value`, one element per line, six decimals.

/// A value. Only what reports need: there is no null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The member is left out.
    Absent,
    Integer(u64),
    Signed(i64),
    Truth(bool),
    Float(f64),
    Text(String),
    Object(Object),
    List(Vec<Value>),
    /// An object that stands on one line in a document too: one of many points.
    OnOneLine(Object),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Integer(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Signed(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Signed(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Truth(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_string())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Value {
        Value::Text(value.clone())
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Value {
        Value::Object(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Clone + Into<Value>> From<&Vec<T>> for Value {
    fn from(values: &Vec<T>) -> Value {
        values.clone().into()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Absent, Into::into)
    }
}

/// `object! { "key": value, ... }`: an object with these members in this order; those whose value is `None` are left out.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {{
        let mut object = $crate::document::layout::Object::default();
        $( object.add($key, $value); )*
        object
    }};
}

pub(crate) use object;

/// The objects of a list.
pub(crate) fn list<T>(items: &[T], object: impl Fn(&T) -> Object) -> Vec<Object> {
    items.iter().map(object).collect()
}

/// The same, left out where there are none.
pub(super) fn list_if_any<T>(items: &[T], object: impl Fn(&T) -> Object) -> Option<Vec<Object>> {
    (!items.is_empty()).then(|| list(items, object))
}

/// Names and values, left out where there are none.
pub(crate) fn options(options: &[(String, String)]) -> Option<Object> {
    (!options.is_empty()).then(|| options.iter().map(|(name, value)| (name, value)).collect())
}

/// Keys and values in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Value)>);

impl Object {
    /// Adds one member, unless its value is absent.
    pub(crate) fn add(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        match value.into() {
            Value::Absent => {}
            value => self.0.push((key.into(), value)),
        }
    }

    /// Adds all members of another object.
    pub(crate) fn append(&mut self, mut other: Object) {
        self.0.append(&mut other.0);
    }

    /// Takes members away.
    pub(crate) fn remove(&mut self, keys: &[&str]) {
        self.0.retain(|(key, _)| !keys.contains(&key.as_str()));
    }

    /// The whole text of a document, ended by a newline.
    pub(crate) fn document(&self) -> String {
        let mut text = String::new();
        append_object(&mut text, self, 0);
        text.push('\n');
        text
    }

    /// The same on a single line, without any blanks between the elements.
    pub(crate) fn line(&self) -> String {
        let mut text = String::new();
        append_compact(&mut text, &Value::Object(self.clone()));
        text.push('\n');
        text
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Object {
        Object(members.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

fn append_value(text: &mut String, value: &Value, level: usize) {
    match value {
        Value::Object(object) => append_object(text, object, level),
        Value::List(values) => append_list(text, values, level),
        Value::OnOneLine(_) => append_compact(text, value),
        scalar => append_scalar(text, scalar),
    }
}

/// A value without parts of its own.
fn append_scalar(text: &mut String, value: &Value) {
    match value {
        Value::Integer(number) => *text += &number.to_string(),
        Value::Signed(number) => *text += &number.to_string(),
        Value::Truth(truth) => *text += &truth.to_string(),
        Value::Float(number) => *text += &decimals(*number),
        Value::Text(string) => append_text(text, string),
        Value::Absent | Value::Object(_) | Value::List(_) | Value::OnOneLine(_) => {}
    }
}

/// A number with its decimals. JSON has no word for infinity or "not a number".
pub(super) fn decimals(number: f64) -> String {
    format!("{:.6}", if number.is_finite() { number } else { 0.0 })
}

fn append_compact(text: &mut String, value: &Value) {
    match value {
        Value::Object(object) | Value::OnOneLine(object) => {
            text.push('{');
            for (index, (key, value)) in object.0.iter().enumerate() {
                text.extend((index > 0).then_some(','));
                append_text(text, key);
                text.push(':');
                append_compact(text, value);
            }
            text.push('}');
        }
        Value::List(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                text.extend((index > 0).then_some(','));
                append_compact(text, value);
            }
            text.push(']');
        }
        scalar => append_scalar(text, scalar),
    }
}

fn append_object(text: &mut String, object: &Object, level: usize) {
    *text += "{\n";
    for (index, (key, value)) in object.0.iter().enumerate() {
        separate(text, index, level + 1);
        append_text(text, key);
        *text += " : ";
        append_value(text, value, level + 1);
    }
    close(text, '}', level);
}

fn append_list(text: &mut String, values: &[Value], level: usize) {
    *text += "[\n";
    for (index, value) in values.iter().enumerate() {
        separate(text, index, level + 1);
        append_value(text, value, level + 1);
    }
    close(text, ']', level);
}

fn separate(text: &mut String, index: usize, level: usize) {
    if index > 0 {
        *text += ",\n";
    }
    indent(text, level);
}

fn close(text: &mut String, bracket: char, level: usize) {
    text.push('\n');
    indent(text, level);
    text.push(bracket);
}

fn indent(text: &mut String, level: usize) {
    text.extend(std::iter::repeat_n("  ", level));
}

/// A string in quotes. Control characters are escaped as JSON demands, whatever wrote them into a job's name.
fn append_text(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\0'..' ' => *text += &format!("\\u{:04x}", u32::from(character)),
            _ => text.push(character),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let object = object! {
            "name": "a\"b\\c\n",
            "absent": None::<u64>,
            "empty": Object::default(),
            "list": vec![1u64, 2],
            "objects": vec![object! { "min": 1u64, "mean": 170_260.694_293 }],
        };
        assert_eq!(
            object.document(),
            r#"{
  "name" : "a\"b\\c\u000a",
  "empty" : {

  },
  "list" : [
    1,
    2
  ],
  "objects" : [
    {
      "min" : 1,
      "mean" : 170260.694293
    }
  ]
}
"#
        );
    }

    #[test]
    fn one_line() {
        let mut object = Object::default();
        object.add("a\nb", vec![1u64, 2]);
        object.append([("last", true)].into_iter().collect());
        assert_eq!(object.line(), "{\"a\\u000ab\":[1,2],\"last\":true}\n");
    }

    #[test]
    fn what_json_cannot_say_is_zero() {
        let object: Object = [("a", f64::NAN), ("b", f64::INFINITY)].into_iter().collect();
        assert_eq!(object.document(), "{\n  \"a\" : 0.000000,\n  \"b\" : 0.000000\n}\n");
    }
}

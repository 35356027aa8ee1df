//! The document as a value that types are read from, for commands that want the figures of a run and not its text.

use super::layout::{Object, Value, decimals};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

impl Object {
    /// The same with every string, names of members among them, as `change` makes it.
    pub(crate) fn map_texts(self, change: &impl Fn(&str) -> String) -> Object {
        self.into_iter().map(|(name, value)| (change(&name), value.map_texts(change))).collect()
    }
}

impl Value {
    fn map_texts(self, change: &impl Fn(&str) -> String) -> Value {
        match self {
            Value::Text(text) => Value::Text(change(&text)),
            Value::Object(object) => Value::Object(object.map_texts(change)),
            Value::OnOneLine(object) => Value::OnOneLine(object.map_texts(change)),
            Value::List(values) => {
                Value::List(values.into_iter().map(|value| value.map_texts(change)).collect())
            }
            other => other,
        }
    }
}

impl IntoDeserializer<'_> for Value {
    type Deserializer = Value;

    fn into_deserializer(self) -> Value {
        self
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Absent => visitor.visit_none(),
            Value::Integer(number) => visitor.visit_u64(number),
            Value::Signed(number) => visitor.visit_i64(number),
            Value::Truth(truth) => visitor.visit_bool(truth),
            // To the last bit as it is read from the text, so that a result at hand and the same one kept say the same.
            Value::Float(number) => {
                visitor.visit_f64(serde_json::from_str(&decimals(number)).unwrap_or_default())
            }
            Value::Text(text) => visitor.visit_string(text),
            Value::Object(object) | Value::OnOneLine(object) => {
                visitor.visit_map(MapDeserializer::new(object.into_iter()))
            }
            Value::List(values) => visitor.visit_seq(SeqDeserializer::new(values.into_iter())),
        }
    }

    /// What is absent is no member at all, so there is always something.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

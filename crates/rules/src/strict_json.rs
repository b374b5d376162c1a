//! JSON in which no object has a key twice: of two values a reader would take one, and nobody would say which.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads one value; an object that has a key twice is an error.
pub fn strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut from)?;
    from.end()?;
    Ok(value)
}

/// The fault of a text in words, without the place and without the names that a parser has for its parts.
pub fn fault(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "found the end of the text within a JSON value".to_owned(),
        Category::Syntax => "found text that is no JSON".to_owned(),
        Category::Data | Category::Io => {
            let said = error.to_string();
            let place = said.rsplit_once(" at line ");
            place.map_or(said.as_str(), |(said, _)| said).to_owned()
        }
    }
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict)?;
            if found.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key `{key}` stands here twice"
                )));
            }
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use super::strict;

    #[test]
    fn a_key_that_stands_twice_is_an_error_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"a":1}}]"#] {
            let error = strict(text).expect_err(text).to_string();
            assert!(
                error.starts_with("the key `a` stands here twice"),
                "{error}"
            );
        }
        let text = r#"{"a":[{"a":1.5},{"a":-2}],"b":null,"c":true}"#;
        let value = strict(text).expect("JSON");
        assert_eq!(
            value,
            serde_json::from_str::<serde_json::Value>(text).expect("JSON")
        );
    }
}

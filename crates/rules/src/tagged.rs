//! Kind and body of a record apart, for serde: a variant is named in the envelope, its fields stand in the
//! body. In the first format the kind stood among the fields.

use super::op::Body;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::ser::{Impossible, SerializeMap, SerializeStructVariant, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt::{self, Display};

/// Reason why a body was not read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The topic has no such kind: a newer program does.
    KindUnknown,
    /// The body is damaged; the reason in words.
    Damaged(String),
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::KindUnknown => f.write_str("a kind that is not known"),
            Fault::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault::Damaged(message.to_string())
    }
}

/// Reads the variant of a kind from its body; no body is an empty one.
pub(super) fn read<'de, T: Deserialize<'de>>(
    kind: &'de str,
    body: Option<&'de RawValue>,
) -> Result<T, Fault> {
    let body = body.map_or("{}", RawValue::get);
    T::deserialize(Kinded { kind, body })
}

struct Kinded<'de> {
    kind: &'de str,
    body: &'de str,
}

impl<'de> Deserializer<'de> for Kinded<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(Fault::Damaged(
            "expected the variants of a topic".to_owned(),
        ))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if !variants.contains(&self.kind) {
            return Err(Fault::KindUnknown);
        }
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Kinded<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = StrDeserializer::new(self.kind);
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Kinded<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(self.body))
            .map_err(|error| Fault::Damaged(error.to_string()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(Fault::Damaged("expected fields with names".to_owned()))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        serde_json::Deserializer::from_str(self.body)
            .deserialize_struct("body", fields, visitor)
            .map_err(|error| Fault::Damaged(error.to_string()))
    }
}

/// A body on its way out.
pub(super) struct Tagged<'a> {
    pub(super) body: &'a Body,
    /// Set when the kind stands among the fields, as in the first format. The fields of a session's step beside
    /// its event stand outside of the event there.
    pub(super) names_kind: bool,
}

impl Serialize for Tagged<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fields = |to| Fields {
            to,
            names_kind: self.names_kind,
            body: self.body,
        };
        match self.body {
            Body::Log(word) => word.serialize(fields(to)),
            Body::Session(step) => step.event.serialize(fields(to)),
            Body::Task(event) => event.serialize(fields(to)),
            Body::Issue(event) => event.serialize(fields(to)),
            Body::Note(note) => note.serialize(fields(to)),
            Body::Unknown(unknown) => raw_body(&unknown.bytes).serialize(to),
        }
    }
}

/// The body of a record that is not known, as it is stored.
fn raw_body(record: &[u8]) -> serde_json::Value {
    let mut record: serde_json::Value = serde_json::from_slice(record).unwrap_or_default();
    let bodies = ["body", "event"].map(|key| record[key].take());
    let found = bodies.into_iter().find(|body| !body.is_null());
    found.unwrap_or_default()
}

/// Writes a variant as the map of its fields.
struct Fields<'a, S> {
    to: S,
    names_kind: bool,
    body: &'a Body,
}

struct Map<'a, M> {
    map: M,
    names_kind: bool,
    body: &'a Body,
}

impl<'a, S: Serializer> Fields<'a, S> {
    fn begin(self, kind: &str) -> Result<Map<'a, S::SerializeMap>, S::Error> {
        let mut map = self.to.serialize_map(None)?;
        if self.names_kind {
            map.serialize_entry("kind", kind)?;
        }
        Ok(Map {
            map,
            names_kind: self.names_kind,
            body: self.body,
        })
    }
}

impl<M: SerializeMap> SerializeStructVariant for Map<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        self.map.serialize_entry(key, value)
    }

    fn end(mut self) -> Result<M::Ok, M::Error> {
        if let Body::Session(step) = self.body
            && !self.names_kind
        {
            if !step.bases.is_empty() {
                self.map.serialize_entry("bases", &step.bases)?;
            }
            if let Some(claim) = &step.claim {
                self.map.serialize_entry("claim", claim)?;
            }
        }
        self.map.end()
    }
}

/// The kinds of values that no topic's variant is.
macro_rules! refused {
    ($($name:ident($($kind:ty),*)),* $(,)?) => {
        $(fn $name(self, $(_: $kind),*) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("expected a variant with named fields"))
        })*
    };
}

impl<'a, S: Serializer> Serializer for Fields<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = Impossible<S::Ok, S::Error>;
    type SerializeStruct = Impossible<S::Ok, S::Error>;
    type SerializeStructVariant = Map<'a, S::SerializeMap>;

    refused! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_f32(f32),
        serialize_f64(f64), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_none(), serialize_unit(), serialize_unit_struct(&'static str),
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.begin(variant)?.end()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.begin(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<S::Ok, S::Error> {
        self.serialize_none()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<S::Ok, S::Error> {
        self.serialize_none()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        // The first format has no kind whose fields stand in a struct of their own.
        if self.names_kind {
            self.serialize_none()
        } else {
            value.serialize(self.to)
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.serialize_none().and_then(never)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.serialize_none().and_then(never)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.serialize_none().and_then(never)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.serialize_none().and_then(never)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.serialize_none().and_then(never)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.serialize_none().and_then(never)
    }
}

/// Refuses a variant without named fields: it has no value.
fn never<T, R, E: serde::ser::Error>(_: T) -> Result<R, E> {
    Err(E::custom("expected a variant with named fields"))
}

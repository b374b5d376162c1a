//! Closed word lists: an enum, its words, and the one parser that refuses every other word.

#[macro_export]
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::failure::Failure;
            /// An unknown word is an error: nothing fails open.
            fn from_str(text: &str) -> $crate::failure::Result<Self> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::failure::Failure::usage(
                        $crate::code::Code::WordUnknown,
                        format!("expected one of {}, found `{text}`", Self::WORDS.join(", ")),
                    )),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub use vocabulary;

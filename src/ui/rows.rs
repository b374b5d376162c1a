//! Long lists. Their document is written row by row: no tree of it is built, so that it needs no more memory than its
//! longest row. Their lines are written together, and not made at all where a document is wanted.

use super::{JSON_SCHEMA, Stream, Ui};
use loopx_base::hint::{Place, print_hints};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::io::{self, BufWriter, Write};

impl Ui {
    /// Writes the one JSON document of a list, its rows under `key`. A hint may stand in `body`, and in no row.
    pub(crate) fn json_rows(
        &mut self,
        command: &str,
        body: Value,
        (key, rows): (&str, impl Iterator<Item = impl Serialize> + Clone),
    ) {
        if !self.options.json {
            return;
        }
        let mut body = match body {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let unfinished = self.unfinished.all();
        if !unfinished.is_empty() {
            body.insert("unfinished".into(), serde_json::json!(unfinished));
        }
        let mut sink = std::mem::take(&mut self.stdout);
        let to = Stream(&mut sink);
        // What cannot be written, the sink remembers.
        drop(self.place(|place| write(to, (command, body), (key, rows), place)));
        self.stdout = sink;
    }

    /// Writes many lines together, and none of them where a document is wanted instead of text.
    pub(crate) fn lines(&mut self, write: impl FnOnce(&mut Ui)) {
        if self.options.json {
            return;
        }
        self.stdout.lines = Some(Vec::new());
        write(self);
        if let Some(lines) = self.stdout.lines.take()
            && !lines.is_empty()
        {
            self.stdout.write(&lines);
        }
    }
}

/// Number of bytes that are gathered before they are written.
const BUFFER: usize = 64 * 1024;

/// A document whose rows stand under one of its keys, which are in the order of every document.
struct Document<'d, R> {
    head: Map<String, Value>,
    key: &'d str,
    rows: R,
}

impl<R: Iterator<Item = T> + Clone, T: Serialize> Serialize for Document<'_, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        let before = |name: &&String| name.as_str() < self.key;
        for name in self.head.keys().filter(before) {
            map.serialize_entry(name, &self.head[name])?;
        }
        map.serialize_entry(self.key, &Rows(&self.rows))?;
        for name in self.head.keys().filter(|name| !before(name)) {
            map.serialize_entry(name, &self.head[name])?;
        }
        map.end()
    }
}

/// Rows that are made as they are written.
struct Rows<'d, R>(&'d R);

impl<R: Iterator<Item = T> + Clone, T: Serialize> Serialize for Rows<'_, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.clone())
    }
}

/// Writes the document of a command. A hint may stand in `body`, and in no row.
fn write(
    to: impl Write,
    (command, body): (&str, Map<String, Value>),
    (key, rows): (&str, impl Iterator<Item = impl Serialize> + Clone),
    place: Place<'_>,
) -> io::Result<()> {
    let mut body = Value::Object(body);
    print_hints(&mut body, place);
    let mut head = Map::new();
    head.insert("schema".into(), JSON_SCHEMA.into());
    head.insert("command".into(), command.into());
    if let Value::Object(body) = body {
        head.extend(body);
    }
    let mut to = BufWriter::with_capacity(BUFFER, to);
    serde_json::to_writer_pretty(&mut to, &Document { head, key, rows })?;
    to.write_all(b"\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::write;
    use loopx_base::hint::{Place, command};
    use serde_json::{Map, Value, json};

    /// Counts the pieces that are written, and keeps the longest.
    #[derive(Default)]
    struct Pieces {
        count: usize,
        longest: usize,
        all: Vec<u8>,
    }

    impl std::io::Write for &mut Pieces {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.count += 1;
            self.longest = self.longest.max(bytes.len());
            self.all.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(rows: &[Value]) -> Pieces {
        let mut pieces = Pieces::default();
        let body: Map<String, Value> = [
            ("all".to_owned(), json!(2)),
            ("next".to_owned(), json!(command!("next"))),
            ("zone".to_owned(), json!([1])),
        ]
        .into_iter()
        .collect();
        let place = Place::default();
        write(&mut pieces, ("list", body), ("rows", rows.iter()), place).expect("written");
        pieces
    }

    #[test]
    fn a_document_written_by_rows_is_the_one_that_a_tree_would_give() {
        for count in [0, 1, 3] {
            let rows: Vec<Value> = (0..count).map(|n| json!({"id": n, "on": [n]})).collect();
            let whole = json!({
                "schema": 1, "command": "list", "all": 2, "next": "git loopx next", "zone": [1], "rows": rows,
            });
            let expected = serde_json::to_string_pretty(&whole).expect("text") + "\n";
            let found = String::from_utf8(written(&rows).all).expect("text");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_is_held_at_once_does_not_grow_with_the_rows() {
        let rows: Vec<Value> = (0..20_000)
            .map(|n| json!({"id": n, "title": "T"}))
            .collect();
        let pieces = written(&rows);
        assert!(pieces.longest <= super::BUFFER, "{}", pieces.longest);
        let least = pieces.all.len().div_ceil(super::BUFFER);
        assert!(
            (least..=least + 1).contains(&pieces.count),
            "{} of {least}",
            pieces.count
        );
    }
}

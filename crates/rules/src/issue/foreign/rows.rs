//! Rows of comma-separated values, as RFC 4180 has them: a field in quotes may have the separator, line breaks and, twice,
//! quotes. A formula is a text as any other.

/// A row with the line at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// A place at which a text is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

/// A reader of rows; it ends at the first that is broken.
#[derive(Clone, Debug)]
pub(super) struct Rows<'t> {
    rest: &'t str,
    separator: char,
    line: usize,
}

impl<'t> Rows<'t> {
    pub(super) fn of(text: &'t str, separator: char) -> Self {
        Rows {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            separator,
            line: 1,
        }
    }

    /// Rows by the separator that gives the first of them most fields.
    pub(super) fn detected(text: &'t str) -> Self {
        let by = |separator| Rows::of(text, separator);
        let fields = |rows: &Rows<'_>| match rows.clone().next() {
            Some(Ok(row)) => row.cells.len(),
            _ => 0,
        };
        // Of two that give as many the comma counts.
        let all = [by('\t'), by(';'), by(',')];
        all.into_iter().max_by_key(fields).unwrap_or(by(','))
    }

    fn row(&mut self) -> Result<Row, Broken> {
        let line = self.line;
        let mut cells = vec![self.cell()?];
        while let Some(rest) = self.rest.strip_prefix(self.separator) {
            self.rest = rest;
            cells.push(self.cell()?);
        }
        if let Some(rest) = self.without_break() {
            self.rest = rest;
            self.line += 1;
        }
        Ok(Row { line, cells })
    }

    fn without_break(&self) -> Option<&'t str> {
        let rest = self.rest;
        rest.strip_prefix("\r\n")
            .or(rest.strip_prefix('\n'))
            .or(rest.strip_prefix('\r'))
    }

    fn cell(&mut self) -> Result<String, Broken> {
        let Some(mut rest) = self.rest.strip_prefix('"') else {
            let ends = |c: char| c == self.separator || c == '\n' || c == '\r';
            let (cell, rest) = self
                .rest
                .split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
            self.rest = rest;
            return Ok(cell.to_owned());
        };
        let mut cell = String::new();
        loop {
            let (text, after) = rest.split_once('"').ok_or(Broken {
                line: self.line,
                what: "a field begins with a quote and never ends",
            })?;
            cell.push_str(text);
            let Some(more) = after.strip_prefix('"') else {
                self.rest = after;
                break;
            };
            cell.push('"');
            rest = more;
        }
        self.line += cell.matches('\n').count();
        let is_end = self.rest.is_empty() || self.rest.starts_with(self.separator);
        if is_end || self.without_break().is_some() {
            Ok(cell)
        } else {
            Err(Broken {
                line: self.line,
                what: "a field goes on behind its closing quote",
            })
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let row = self.row();
            match &row {
                // An empty line is no row.
                Ok(one) if one.cells.iter().all(String::is_empty) && one.cells.len() == 1 => {}
                Ok(_) => return Some(row),
                Err(_) => {
                    self.rest = "";
                    return Some(row);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, Row, Rows};
    use proptest::prelude::{Strategy, prop, prop_oneof};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    fn cells(text: &str) -> Vec<Vec<String>> {
        Rows::detected(text)
            .map(|row| row.expect("a row").cells)
            .collect()
    }

    /// A field as RFC 4180 writes it; `quoted` where it need not be.
    fn written((cell, quoted): &(String, bool)) -> String {
        if *quoted || cell.contains(['"', ',', ';', '\t', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    }

    fn any_cell() -> impl Strategy<Value = (String, bool)> {
        let text = prop_oneof!["[a-c\",;\t\r\n =é]{0,6}", ".{0,6}"];
        (text, proptest::prelude::any::<bool>())
    }

    #[test]
    fn a_table_has_quotes_separators_and_line_breaks_in_its_fields() {
        let text =
            "\u{feff}a,b\r\n\"x, y\",\"he said \"\"no\"\"\"\r\n\r\n\"two\nlines\",\r\n=1+1,\"\"";
        let found: Vec<Row> = Rows::detected(text)
            .map(|row| row.expect("a row"))
            .collect();
        let lines: Vec<usize> = found.iter().map(|row| row.line).collect();
        assert_eq!(lines, [1, 2, 4, 6]);
        assert_eq!(found[1].cells, ["x, y", "he said \"no\""]);
        assert_eq!(found[2].cells, ["two\nlines", ""]);
        assert_eq!(found[3].cells, ["=1+1", ""]);
        assert_eq!(
            cells("a;b;c\n1,5;2;3\n"),
            [["a", "b", "c"], ["1,5", "2", "3"]]
        );
        assert_eq!(cells("a\tb\r1\t2\r"), [["a", "b"], ["1", "2"]]);
    }

    #[test]
    fn what_is_no_table_is_told_with_its_line() {
        for (text, line, what) in [
            ("a,b\n1,\"2\n3", 2, "never ends"),
            ("a,b\n\"1\n\"2,3\n", 3, "behind its closing quote"),
        ] {
            let found = Rows::of(text, ',').find_map(Result::err);
            let Some(Broken {
                line: at,
                what: said,
            }) = found
            else {
                panic!("{text} is a table");
            };
            assert!(at == line && said.contains(what), "{text}: {at} {said}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(prop::collection::vec(any_cell(), 2..5), 1..5),
            separator in prop_oneof![proptest::prelude::Just(','), proptest::prelude::Just(';')],
            end in prop_oneof![proptest::prelude::Just("\n"), proptest::prelude::Just("\r\n")],
        ) {
            let line = |row: &Vec<(String, bool)>| {
                let cells: Vec<String> = row.iter().map(written).collect();
                cells.join(&separator.to_string())
            };
            let text: String = rows.iter().map(|row| line(row) + end).collect();
            // A mark of the order of bytes is none within a text.
            let text = text.replace('\u{feff}', "");
            let expected: Vec<Vec<String>> = (rows.iter())
                .map(|row| row.iter().map(|(cell, _)| cell.replace('\u{feff}', "")).collect())
                .collect();
            let found: Vec<_> = Rows::of(&text, separator).collect();
            prop_assert!(found.iter().all(Result::is_ok), "{text:?}");
            let found: Vec<Vec<String>> = found.into_iter().flatten().map(|row| row.cells).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn whatever_is_read_ends_and_no_field_is_longer_than_the_text(text in "[ab\",;\n\r\t]{0,40}") {
            let rows: Vec<_> = Rows::detected(&text).collect();
            let all = rows.iter().flatten().flat_map(|row| &row.cells).map(String::len);
            prop_assert!(all.sum::<usize>() <= text.len());
        }
    }
}

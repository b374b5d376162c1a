//! A command line of a POSIX shell as lists of words: as much of the grammar as is needed to tell a word
//! that git will see from the same letters in a quoted message, a comment or a here-document.
//!
//! It runs nothing and expands nothing. What it cannot read it gives up on: whoever asks gives advice,
//! and advice on a guess is worse than none.

/// Depth to which substitutions and subshells may nest.
const MAX_DEPTH: usize = 16;

/// The simple commands of a command line, those in substitutions and subshells too, each as its words
/// with the quotes taken off. `None` where the line cannot be read.
pub fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut parser = Parser {
        chars: line.chars().collect(),
        at: 0,
        found: Vec::new(),
        documents: Vec::new(),
    };
    parser.list(None, 0)?;
    Some(parser.found)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    found: Vec<Vec<String>>,
    /// Here-documents that begin after this line: the last line of each, and whether tabs are stripped.
    documents: Vec<(String, bool)>,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Commands up to `end`, or to the end of the text.
    fn list(&mut self, end: Option<char>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        loop {
            let Some(c) = self.peek() else {
                self.flush(&mut words);
                return end.is_none().then_some(());
            };
            if Some(c) == end {
                self.flush(&mut words);
                self.at += 1;
                return Some(());
            }
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek_at(1) == Some('\n') => self.at += 2,
                '\n' => {
                    self.flush(&mut words);
                    self.at += 1;
                    self.skip_documents();
                }
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.peek_at(1) == Some('>') => {
                    self.at += 1;
                }
                ';' | '&' | '|' | ')' => {
                    self.flush(&mut words);
                    self.at += 1;
                }
                '(' => {
                    self.flush(&mut words);
                    self.at += 1;
                    self.list(Some(')'), depth + 1)?;
                }
                '<' | '>' => self.redirection(depth)?,
                _ => {
                    let word = self.word(depth)?;
                    let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
                    // `2>`: the number belongs to the redirection.
                    if !(is_number && matches!(self.peek(), Some('<' | '>'))) {
                        words.push(word);
                    }
                }
            }
        }
    }

    fn flush(&mut self, words: &mut Vec<String>) {
        if !words.is_empty() {
            self.found.push(std::mem::take(words));
        }
    }

    /// An operator like `>`, `2>&1`, `<<EOF`, with its target.
    fn redirection(&mut self, depth: usize) -> Option<()> {
        let mut operator = String::new();
        while let Some(c @ ('<' | '>' | '&' | '|' | '-')) = self.peek() {
            if c == '-' && operator != "<<" {
                break;
            }
            operator.push(c);
            self.at += 1;
            if operator == "<<<" {
                break;
            }
        }
        if self.peek() == Some('(') {
            self.at += 1;
            return self.list(Some(')'), depth + 1);
        }
        while let Some(' ' | '\t') = self.peek() {
            self.at += 1;
        }
        let target = match self.peek() {
            None | Some('\n' | ';' | ')') => String::new(),
            _ => self.word(depth)?,
        };
        if operator == "<<" || operator == "<<-" {
            self.documents.push((target, operator == "<<-"));
        }
        Some(())
    }

    /// Passes over the here-documents that were announced on the line that ends here.
    fn skip_documents(&mut self) {
        for (last, strip) in std::mem::take(&mut self.documents) {
            while self.at < self.chars.len() {
                let from = self.at;
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
                let line: String = self.chars[from..self.at].iter().collect();
                self.at += 1;
                let line = if strip {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line.trim_end_matches('\r') == last {
                    break;
                }
            }
        }
        self.at = self.at.min(self.chars.len());
    }

    fn word(&mut self, depth: usize) -> Option<String> {
        let mut word = String::new();
        let from = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    match self.peek_at(1) {
                        Some('\n') => {}
                        Some(next) => word.push(next),
                        None => return None,
                    }
                    self.at += 2;
                }
                '\'' => {
                    self.at += 1;
                    self.until_quote(&mut word)?;
                }
                '"' => {
                    self.at += 1;
                    self.double(&mut word, depth)?;
                }
                '$' => self.dollar(&mut word, depth)?,
                '`' => self.backticks(depth)?,
                _ => {
                    word.push(c);
                    self.at += 1;
                }
            }
        }
        // Something that begins no word would be read for ever.
        (self.at > from).then_some(word)
    }

    fn until_quote(&mut self, word: &mut String) -> Option<()> {
        loop {
            let c = self.peek()?;
            self.at += 1;
            if c == '\'' {
                return Some(());
            }
            word.push(c);
        }
    }

    fn double(&mut self, word: &mut String, depth: usize) -> Option<()> {
        loop {
            match self.peek()? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    match self.peek_at(1)? {
                        '\n' => {}
                        c @ ('"' | '\\' | '$' | '`') => word.push(c),
                        c => {
                            word.push('\\');
                            word.push(c);
                        }
                    }
                    self.at += 2;
                }
                '$' => self.dollar(word, depth)?,
                '`' => self.backticks(depth)?,
                c => {
                    word.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads an expansion that begins with `$`: a substitution is read for its commands and gives no text.
    fn dollar(&mut self, word: &mut String, depth: usize) -> Option<()> {
        self.at += 1;
        match (self.peek(), self.peek_at(1)) {
            (Some('('), Some('(')) => self.balanced('(', ')'),
            (Some('('), _) => {
                self.at += 1;
                self.list(Some(')'), depth + 1)
            }
            (Some('{'), _) => self.balanced('{', '}'),
            (Some('\''), _) => {
                self.at += 1;
                loop {
                    match self.peek()? {
                        '\'' => {
                            self.at += 1;
                            return Some(());
                        }
                        '\\' => {
                            word.push(self.peek_at(1)?);
                            self.at += 2;
                        }
                        c => {
                            word.push(c);
                            self.at += 1;
                        }
                    }
                }
            }
            _ => {
                word.push('$');
                Some(())
            }
        }
    }

    fn balanced(&mut self, open: char, close: char) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let c = self.peek()?;
            self.at += 1;
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    return Some(());
                }
            }
        }
    }

    fn backticks(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.peek()? {
                '`' => {
                    self.at += 1;
                    break;
                }
                '\\' if matches!(self.peek_at(1), Some('`' | '\\' | '$')) => {
                    inner.extend(self.peek_at(1));
                    self.at += 2;
                }
                c => {
                    inner.push(c);
                    self.at += 1;
                }
            }
        }
        let mut parser = Parser {
            chars: inner.chars().collect(),
            at: 0,
            found: Vec::new(),
            documents: Vec::new(),
        };
        parser.list(None, depth + 1)?;
        self.found.append(&mut parser.found);
        Some(())
    }
}

#[cfg(test)]
mod tests;

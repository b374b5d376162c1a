//! The order of sessions that wait for each other.

use loopx_base::id::SessionId;
use std::collections::{BTreeMap, BTreeSet};

/// The places of sessions, each with those that it depends on, so that every one stands behind its own;
/// otherwise as given. What is not among them has no say. The error is a cycle, its first one repeated
/// at the end.
pub fn order(sessions: &[(SessionId, Vec<SessionId>)]) -> Result<Vec<usize>, Vec<SessionId>> {
    let places: BTreeMap<&SessionId, usize> = sessions
        .iter()
        .enumerate()
        .map(|(at, (id, _))| (id, at))
        .collect();
    let needs = |at: usize| {
        let (_, needs) = &sessions[at];
        needs.iter().filter_map(|id| places.get(id).copied())
    };
    let mut order = Vec::new();
    let mut placed = BTreeSet::new();
    while order.len() < sessions.len() {
        let open = (0..sessions.len()).filter(|at| !placed.contains(at));
        let mut free = open.clone();
        if let Some(at) = free.find(|at| needs(*at).all(|need| placed.contains(&need))) {
            placed.insert(at);
            order.push(at);
            continue;
        }
        // Each of them waits for another one: whoever follows that comes round.
        let mut path: Vec<usize> = open.take(1).collect();
        while let Some(next) = path
            .last()
            .and_then(|at| needs(*at).find(|need| !placed.contains(need)))
        {
            let again = path.iter().position(|at| *at == next);
            path.push(next);
            if let Some(first) = again {
                path.drain(..first);
                break;
            }
        }
        return Err(path.iter().map(|at| sessions[*at].0.clone()).collect());
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::order;
    use loopx_base::id::SessionId;

    fn sessions(text: &str) -> Vec<(SessionId, Vec<SessionId>)> {
        let id = |name: &str| SessionId::parse(name).expect(name);
        text.split(' ')
            .map(|one| {
                let (name, needs) = one.split_once('<').unwrap_or((one, ""));
                let needs = needs.split(',').filter(|need| !need.is_empty());
                (id(name), needs.map(id).collect())
            })
            .collect()
    }

    #[test]
    fn who_is_waited_for_goes_first_and_the_rest_stays_as_given() {
        for (given, wanted) in [
            ("a b c", "a b c"),
            ("c<a b a", "b a c"),
            ("d<c c<b b<a a", "a b c d"),
            ("b<x a", "b a"),
            ("d<b,c c<a b<a a", "a c b d"),
        ] {
            let given = sessions(given);
            let order = order(&given).expect("no cycle");
            let names: Vec<&str> = order.iter().map(|at| given[*at].0.as_str()).collect();
            assert_eq!(names.join(" "), wanted);
        }
    }

    #[test]
    fn a_cycle_is_told_from_its_first_to_its_first() {
        for (given, wanted) in [
            ("a<a", "a a"),
            ("a<b b<a c", "a b a"),
            ("x<a a<b b<c c<a", "a b c a"),
        ] {
            let cycle = order(&sessions(given)).expect_err("a cycle");
            let names: Vec<&str> = cycle.iter().map(SessionId::as_str).collect();
            assert_eq!(names.join(" "), wanted);
        }
    }
}

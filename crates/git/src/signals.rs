//! Signals that end this program, noted while a command runs for somebody: it is ended first, and then we are, as if
//! nobody had listened. At any other time a signal does what it always did.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Flags that the handlers look at. They stay in memory from the first use on: a signal without them would be lost.
struct Noted {
    /// Set when nobody listens: a signal ends us at once.
    idle: Arc<AtomicBool>,
    came: Arc<AtomicUsize>,
}

static NOTED: OnceLock<Noted> = OnceLock::new();

/// Guard: while it lives, signals are noted.
pub(super) struct Listening(&'static Noted);

/// Begins to listen.
pub(super) fn listen() -> Listening {
    let noted = NOTED.get_or_init(|| {
        let noted = Noted {
            idle: Arc::new(AtomicBool::new(true)),
            came: Arc::new(AtomicUsize::new(0)),
        };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let Ok(number) = usize::try_from(signal) else {
                continue;
            };
            // Whoever started us wanted it ignored (nohup).
            if is_ignored(signal) {
                continue;
            }
            // A signal that cannot be heard does what it always did.
            let idle = flag::register_conditional_default(signal, Arc::clone(&noted.idle));
            drop(idle.and_then(|_| flag::register_usize(signal, Arc::clone(&noted.came), number)));
        }
        noted
    });
    noted.idle.store(false, Ordering::SeqCst);
    Listening(noted)
}

impl Listening {
    /// The signal that came.
    pub(super) fn heard(&self) -> Option<i32> {
        match self.0.came.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// End of listening: a signal that came while nobody asked any more still ends us.
impl Drop for Listening {
    fn drop(&mut self) {
        self.0.idle.store(true, Ordering::SeqCst);
        if let Some(signal) = self.heard() {
            let _ = emulate_default_handler(signal);
        }
    }
}

/// Tells whether a signal was ignored when we were started, as Linux tells it; elsewhere only the plain request to end
/// is listened to.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return signal != SIGTERM;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

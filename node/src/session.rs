//! A session with the node of a home: the one that runs, or one that is started for the length of a command.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::cli::Context;
use crate::client::Client;
use crate::config::Config;
use crate::exit::BusyError;
use crate::home::{Home, HomeLock};
use crate::host::{Hosted, Reach};
use crate::output;

/// How long a command waits for another one that works with the home.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// When it says that it waits.
const SAID_AFTER: Duration = Duration::from_secs(2);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Does some work with the node of the home, and leaves everything as it was: a node that was started for it is
/// stopped again, whatever came of the work.
pub async fn with_node<T>(cx: &Context, work: impl AsyncFnOnce(&Client) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let home = cx.home()?;
    home.require()?;
    home.check_socket_path()?;
    let client = |socket| Client::new(socket, cx.person.clone());
    match reach(&home).await? {
        Reached::Running => work(&client(home.socket())).await,
        Reached::Locked(lock) => {
            let config = Config::load(&home.config_file(), &[])?;
            let hosted = Hosted::start(&home, &config, Reach::Home, lock).await?;
            let result = work(&client(home.command_socket())).await;
            hosted.stop().await;
            result
        }
    }
}

enum Reached {
    /// A node answers at the socket.
    Running,
    /// Nobody works with the home, and nobody else will until the lock is given back.
    Locked(HomeLock),
}

async fn reach(home: &Home) -> anyhow::Result<Reached> {
    let begun = Instant::now();
    let mut said = false;
    loop {
        if UnixStream::connect(home.socket()).is_ok() {
            return Ok(Reached::Running);
        }
        match HomeLock::take(home)? {
            Ok(lock) => return Ok(Reached::Locked(lock)),
            Err(holder) if begun.elapsed() >= WAIT_MAX => {
                let home = home.root().display();
                let text = format!("{holder} still works with {home}; try again later, or let `plumb up` run for all");
                return Err(BusyError(text).into());
            }
            Err(holder) => {
                if !said && begun.elapsed() >= SAID_AFTER {
                    output::remark(&format!("plumb: waiting for {holder}, which works with this home"));
                    said = true;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

//! Every setting there is: its name, what it takes, its default and what it does. The template of `plumb.toml`, the
//! names of the environment variables and `plumb config show` all come from this one table.

use std::fmt;

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number, not negative.
    Number,
    /// Several texts; in the environment with commas between.
    List,
}

/// The value of a setting, one variant for each [`Kind`]. It shows itself as TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Flag(bool),
    Number(u64),
    List(Vec<String>),
}

/// A default that is known when the program is written.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// There is none: somebody has to say it.
    Needed,
    /// Text.
    Text(&'static str),
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Number(u64),
    /// Several texts.
    List(&'static [&'static str]),
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// `section.key`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds if nobody says otherwise.
    pub preset: Preset,
    /// What it does, for the template.
    pub about: &'static str,
}

const fn setting(name: &'static str, kind: Kind, preset: Preset, about: &'static str) -> Setting {
    Setting { name, kind, preset, about }
}

/// All of them, in the order of the template.
pub static SETTINGS: [Setting; 25] = [
    setting("node.department", Kind::Text, Preset::Needed, "Whose node this is. Its certificate says the same."),
    setting(
        "node.person",
        Kind::Text,
        Preset::Needed,
        "For whom commands on this machine ask, unless they say `--as`. Must be one of the people below.",
    ),
    setting(
        "search.model",
        Kind::Text,
        Preset::Text("embedded"),
        "The model that finds texts by meaning, beside their words: embedded, off, or one that `plumb model add` took in. \
         Another model makes its vectors beside the old ones and takes over when it has all of them.",
    ),
    setting(
        "http.listen",
        Kind::Text,
        Preset::Text("127.0.0.1:7411"),
        "Where `plumb up` answers HTTP. Loopback unless you put TLS in front of it.",
    ),
    setting(
        "http.did_web",
        Kind::Text,
        Preset::Text(""),
        "The host under which HTTP is reached from outside, such as evidence.example.org. With it this node serves \
         /.well-known/did.json and signs JSON bundles as did:web of that host; without it, as its did:key.",
    ),
    setting(
        "federation.listen",
        Kind::List,
        Preset::List(&["/ip4/127.0.0.1/tcp/7412", "/ip4/127.0.0.1/udp/7412/quic-v1"]),
        "Where other nodes reach this one, as multiaddresses; /…/p2p/RELAY/p2p-circuit listens through a relay.",
    ),
    setting(
        "federation.bootstrap",
        Kind::List,
        Preset::List(&[]),
        "Nodes to connect to from the start, as multiaddresses, best with /p2p/ at the end.",
    ),
    setting(
        "federation.announce",
        Kind::List,
        Preset::List(&[]),
        "Addresses at which others reach this node though it does not listen there, such as a router's.",
    ),
    setting("federation.mdns", Kind::Flag, Preset::Flag(false), "Find and announce nodes on the local network."),
    setting(
        "federation.relay",
        Kind::Flag,
        Preset::Flag(false),
        "Whether peers that this node admits may reach each other through it.",
    ),
    setting(
        "federation.requests_per_second",
        Kind::Number,
        Preset::Number(500),
        "Requests of one kind that one peer may send in a second, in the long run.",
    ),
    setting(
        "federation.publish_summary",
        Kind::Flag,
        Preset::Flag(false),
        "Whether other nodes get a signed summary of the public collection (its frequent terms), to choose whom to ask.",
    ),
    setting(
        "federation.share_statistics",
        Kind::Flag,
        Preset::Flag(true),
        "Whether other nodes get the statistics of what they may read. If not, results are fused by rank.",
    ),
    setting(
        "federation.name_person",
        Kind::Flag,
        Preset::Flag(false),
        "Whether a question to other nodes says which person asks, besides role and department.",
    ),
    setting(
        "federation.sync",
        Kind::Text,
        Preset::Text("query-only"),
        "When knowledge is offered to peers: query-only (never by itself), background-sync or real-time-sync.",
    ),
    setting(
        "federation.sync_every_ms",
        Kind::Number,
        Preset::Number(300_000),
        "How often knowledge is offered in the background, in milliseconds.",
    ),
    setting(
        "policy.restricted_within_department",
        Kind::Flag,
        Preset::Flag(false),
        "Whether restricted evidence of one team may be read by the rest of its department.",
    ),
    setting("ingest.bytes_max", Kind::Number, Preset::Number(64 << 20), "Largest source that is taken in, in bytes."),
    setting(
        "limits.body_bytes_max",
        Kind::Number,
        Preset::Number(16 << 20),
        "Largest body of an HTTP request, in bytes; bundles may be larger.",
    ),
    setting(
        "limits.request_ms_max",
        Kind::Number,
        Preset::Number(60_000),
        "Longest time that an HTTP request may take, in milliseconds.",
    ),
    setting(
        "limits.requests_max",
        Kind::Number,
        Preset::Number(64),
        "HTTP requests that are worked on at once; more are told to come back.",
    ),
    setting("limits.connections_max", Kind::Number, Preset::Number(256), "HTTP connections that are kept at once."),
    setting(
        "limits.drain_ms_max",
        Kind::Number,
        Preset::Number(10_000),
        "How long running requests may still take when the node stops, in milliseconds.",
    ),
    setting("log.format", Kind::Text, Preset::Text("human"), "How the log of `plumb up` looks: human or json."),
    setting(
        "log.filter",
        Kind::Text,
        Preset::Text("info,libp2p_kad=error,libp2p_request_response=error"),
        "What is logged: error, warn, info, debug, or by part, such as info,plumb_federation=debug.",
    ),
];

impl Setting {
    /// The setting of a name.
    pub fn by_name(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|s| s.name == name)
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("PLUMB_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// Its section and its key.
    pub fn section_and_key(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').expect("every name in the table has a section")
    }

    /// What holds if nobody says otherwise.
    pub fn default_value(&self) -> Option<Value> {
        match self.preset {
            Preset::Needed => None,
            Preset::Text(text) => Some(Value::Text(text.to_string())),
            Preset::Flag(flag) => Some(Value::Flag(flag)),
            Preset::Number(number) => Some(Value::Number(number)),
            Preset::List(items) => Some(Value::List(items.iter().map(ToString::to_string).collect())),
        }
    }

    /// Reads text from the environment or a flag.
    pub fn read_text(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::Text => Ok(Value::Text(text.to_string())),
            Kind::Flag => match text {
                "true" | "1" | "yes" => Ok(Value::Flag(true)),
                "false" | "0" | "no" => Ok(Value::Flag(false)),
                _ => Err(format!("`{text}` is neither true nor false")),
            },
            Kind::Number => text.parse().map(Value::Number).map_err(|_| format!("`{text}` is not a whole number")),
            Kind::List => Ok(Value::List(
                text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect(),
            )),
        }
    }

    /// Reads a value of `plumb.toml`.
    pub fn read_toml(&self, value: &toml::Value) -> Result<Value, String> {
        let wanted = match self.kind {
            Kind::Text => "text",
            Kind::Flag => "true or false",
            Kind::Number => "a whole number that is not negative",
            Kind::List => "a list of texts",
        };
        let refused = || format!("it takes {wanted}, not `{value}`");
        match (self.kind, value) {
            (Kind::Text, toml::Value::String(text)) => Ok(Value::Text(text.clone())),
            (Kind::Flag, toml::Value::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (Kind::Number, toml::Value::Integer(n)) => u64::try_from(*n).map(Value::Number).map_err(|_| refused()),
            (Kind::List, toml::Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_string))
                .collect::<Option<_>>()
                .map(Value::List)
                .ok_or_else(refused),
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| toml::Value::String(text.to_string()).to_string();
        match self {
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> serde_json::Value {
        match value {
            Value::Text(text) => text.as_str().into(),
            Value::Flag(flag) => (*flag).into(),
            Value::Number(number) => (*number).into(),
            Value::List(items) => items.clone().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_itself() {
        for setting in &SETTINGS {
            let (section, key) = setting.section_and_key();
            assert!(!section.is_empty() && !key.is_empty() && setting.about.ends_with('.'), "{}", setting.name);
            assert!(std::ptr::eq(Setting::by_name(setting.name).unwrap(), setting), "{} stands twice", setting.name);
            if let Some(value) = setting.default_value() {
                let toml: toml::Table = format!("x = {value}").parse().unwrap();
                assert_eq!(setting.read_toml(&toml["x"]), Ok(value), "{}", setting.name);
            }
        }
        assert_eq!(Setting::by_name("http.listen").unwrap().variable(), "PLUMB_HTTP_LISTEN");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_in_words() {
        let number = Setting::by_name("ingest.bytes_max").unwrap();
        assert!(number.read_text("many").unwrap_err().contains("whole number"));
        assert!(number.read_toml(&toml::Value::Integer(-1)).unwrap_err().contains("not negative"));
        let flag = Setting::by_name("federation.mdns").unwrap();
        assert!(flag.read_text("maybe").is_err());
        let list = Setting::by_name("federation.bootstrap").unwrap();
        assert_eq!(list.read_text("/a, /b,"), Ok(Value::List(vec!["/a".into(), "/b".into()])));
    }
}

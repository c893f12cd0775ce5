//! Layers: defaults < `plumb.toml` < environment < flags. Each value remembers where it came from.

use std::collections::BTreeMap;
use std::fmt;

use super::settings::{SETTINGS, Setting, Value};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    Default,
    /// `plumb.toml`.
    File,
    /// An environment variable.
    Environment(String),
    /// A flag of the command.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File => f.write_str("plumb.toml"),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A value given by a flag: the flag's name, the setting's name, and the value.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Such as `--http`.
    pub flag: &'static str,
    /// Such as `http.listen`.
    pub setting: &'static str,
    /// What was given.
    pub value: Value,
}

/// Every setting that has a value, with its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved(BTreeMap<&'static str, (Value, Origin)>);

impl Resolved {
    /// Puts the layers over each other. `table` is `plumb.toml` without its list of people.
    pub fn over(
        table: &toml::Table,
        environment: impl Fn(&str) -> Option<String>,
        flags: &[Flag],
    ) -> Result<Resolved, String> {
        let mut resolved = Resolved::default();
        for setting in &SETTINGS {
            resolved.put(setting, setting.default_value().map(|value| (value, Origin::Default)));
        }
        resolved.put_file(table)?;
        for setting in &SETTINGS {
            let variable = setting.variable();
            if let Some(text) = environment(&variable) {
                let value = setting.read_text(&text).map_err(|e| format!("{variable}: {e}"))?;
                resolved.put(setting, Some((value, Origin::Environment(variable))));
            }
        }
        for flag in flags {
            let setting = Setting::by_name(flag.setting).expect("flags are written for settings that there are");
            resolved.put(setting, Some((flag.value.clone(), Origin::Flag(flag.flag))));
        }
        Ok(resolved)
    }

    fn put(&mut self, setting: &'static Setting, value: Option<(Value, Origin)>) {
        if let Some(value) = value {
            self.0.insert(setting.name, value);
        }
    }

    fn put_file(&mut self, table: &toml::Table) -> Result<(), String> {
        for (section, keys) in table {
            let keys = keys.as_table().ok_or_else(|| format!("`{section}` is not a section such as [node]"))?;
            for (key, value) in keys {
                let name = format!("{section}.{key}");
                let setting = Setting::by_name(&name).ok_or_else(|| unknown(&name))?;
                let value = setting.read_toml(value).map_err(|e| format!("{name}: {e}"))?;
                self.put(setting, Some((value, Origin::File)));
            }
        }
        Ok(())
    }

    /// Every value with its origin, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value, &Origin)> {
        self.0.iter().map(|(name, (value, origin))| (*name, value, origin))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        match self.0.get(name) {
            Some((Value::Text(text), _)) => Ok(text),
            _ => Err(format!("{name} is not set; write it into plumb.toml")),
        }
    }

    /// A flag. Every setting of this kind has a default.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some((Value::Flag(true), _)))
    }

    /// A number. Every setting of this kind has a default.
    pub fn number(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some((Value::Number(number), _)) => *number,
            _ => 0,
        }
    }

    /// A list. Every setting of this kind has a default.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some((Value::List(items), _)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// Where a value came from, for messages.
    pub fn origin(&self, name: &str) -> String {
        self.0.get(name).map_or_else(String::new, |(_, origin)| origin.to_string())
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = SETTINGS.iter().map(|s| s.name).collect();
    format!("there is no setting `{name}`; there are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    fn no_environment(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn a_later_layer_wins_and_is_named() {
        let file = table("[http]\nlisten = \"127.0.0.1:1\"\n[log]\nformat = \"json\"\n[federation]\nmdns = true");
        let environment = |variable: &str| match variable {
            "PLUMB_HTTP_LISTEN" => Some("127.0.0.1:2".to_string()),
            "PLUMB_FEDERATION_MDNS" => Some("false".to_string()),
            _ => None,
        };
        let flags = [Flag { flag: "--http", setting: "http.listen", value: Value::Text("127.0.0.1:3".into()) }];
        let resolved = Resolved::over(&file, environment, &flags).unwrap();

        assert_eq!(
            (resolved.text("http.listen"), resolved.origin("http.listen").as_str()),
            (Ok("127.0.0.1:3"), "--http")
        );
        assert_eq!(resolved.origin("federation.mdns"), "PLUMB_FEDERATION_MDNS");
        assert!(!resolved.flag("federation.mdns"));
        assert_eq!((resolved.text("log.format"), resolved.origin("log.format").as_str()), (Ok("json"), "plumb.toml"));
        assert_eq!(resolved.origin("ingest.bytes_max"), "default");
    }

    #[test]
    fn what_has_no_default_must_be_said() {
        let resolved = Resolved::over(&table(""), no_environment, &[]).unwrap();
        assert!(resolved.text("node.person").unwrap_err().contains("node.person is not set"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("[http]\nlissen = \"x\"", "no setting `http.lissen`"),
            ("listen = 4", "`listen` is not a section"),
            ("[ingest]\nbytes_max = \"big\"", "ingest.bytes_max: it takes a whole number"),
        ] {
            let error = Resolved::over(&table(text), no_environment, &[]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let bad = |variable: &str| (variable == "PLUMB_LIMITS_REQUESTS_MAX").then(|| "lots".to_string());
        assert!(Resolved::over(&table(""), bad, &[]).unwrap_err().starts_with("PLUMB_LIMITS_REQUESTS_MAX"));
    }
}

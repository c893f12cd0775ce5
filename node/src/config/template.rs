//! The `plumb.toml` that `plumb init` writes: every setting with its meaning, defaults as comments.

use std::fmt::Write;

use plumb_actors::Person;

use super::settings::{SETTINGS, Value};

/// Writes the file for a new home.
pub fn render(department: &str, person: &str, people: &[Person]) -> String {
    let mut text = String::from(
        "# Configuration of a Plumbline node.\n\
         # Defaults stand as comments. A value here wins over its default, PLUMB_<SECTION>_<KEY> in the environment\n\
         # wins over this file, and a flag of the command wins over both. `plumb config show` prints the result.\n",
    );
    let mut open = "";
    for setting in &SETTINGS {
        let (section, key) = setting.section_and_key();
        if section != open {
            let _ = write!(text, "\n[{section}]\n");
            open = section;
        }
        let _ = writeln!(text, "# {}", setting.about);
        let given = match setting.name {
            "node.department" => Some(department),
            "node.person" => Some(person),
            _ => None,
        };
        let _ = match (given, setting.default_value()) {
            (Some(given), _) => writeln!(text, "{key} = {}", Value::Text(given.to_string())),
            (None, Some(value)) => writeln!(text, "# {key} = {value}"),
            (None, None) => writeln!(text, "# {key} ="),
        };
    }
    text.push_str("\n# Who may ask this node, and what they belong to. Their rights follow from it.\n");
    for person in people {
        let list = |ids: &[plumb_core::identity::EntityId]| {
            Value::List(ids.iter().map(ToString::to_string).collect()).to_string()
        };
        let _ = write!(
            text,
            "[[people]]\nid = {}\nteams = {}\ndepartments = {}\n",
            Value::Text(person.id.to_string()),
            list(&person.teams),
            list(&person.departments),
        );
    }
    text
}

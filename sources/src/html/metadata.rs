//! What a page says of itself in its head.

use dom_query::{Document, NodeRef};
use dom_smoothie::Article;

/// What was found, before the main content is looked for (which takes the head away).
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The content of `title`.
    title: Option<String>,
    /// The first headings of the two outermost levels.
    headings: Vec<String>,
    fields: Vec<(&'static str, String)>,
}

/// Names that pages use in `meta`, and the field that they fill. The first that comes stays.
const META: [(&str, &str); 32] = [
    ("author", "author"),
    ("dc.creator", "author"),
    ("citation_author", "author"),
    ("article:author", "author"),
    ("description", "description"),
    ("og:description", "description"),
    ("keywords", "keywords"),
    ("article:published_time", "published"),
    ("datepublished", "published"),
    ("date", "published"),
    ("dc.date", "published"),
    ("dcterms.date", "published"),
    ("dcterms.issued", "published"),
    ("citation_publication_date", "published"),
    ("article:modified_time", "modified"),
    ("og:updated_time", "modified"),
    ("datemodified", "modified"),
    ("dcterms.modified", "modified"),
    ("last-modified", "modified"),
    ("og:site_name", "site"),
    ("citation_doi", "doi"),
    ("dc.identifier", "identifier"),
    ("license", "license"),
    ("licence", "license"),
    ("dc.rights", "license"),
    ("dcterms.rights", "license"),
    ("dcterms.license", "license"),
    ("rights", "license"),
    ("copyright", "copyright"),
    ("dc.language", "language"),
    ("content-language", "language"),
    ("generator", "generator"),
];

/// Headings among which the title is looked for.
const HEADINGS_MAX: usize = 50;

impl Metadata {
    /// The title. `title` in the head names the site as well, before or behind (`Mozilla - Wikipedia`); a heading that
    /// stands in it whole is the title alone.
    pub(super) fn title(&self) -> Option<&str> {
        let Some(title) = &self.title else { return self.headings.first().map(String::as_str) };
        let within = self.headings.iter().filter(|heading| is_part(title, heading));
        Some(within.max_by_key(|heading| heading.chars().count()).unwrap_or(title))
    }

    pub(super) fn of(document: &Document) -> Metadata {
        let mut metadata = Metadata::default();
        for node in document.root().descendants_it() {
            if !node.is_element() {
                continue;
            }
            let Some(name) = node.node_name() else { continue };
            match &*name {
                "title" if metadata.title.is_none() => metadata.title = text_of(&node),
                "h1" | "h2" if metadata.headings.len() < HEADINGS_MAX => metadata.headings.extend(text_of(&node)),
                "html" => {
                    metadata.put("language", attr(&node, "lang"));
                    metadata.put("direction", attr(&node, "dir"));
                }
                "body" => metadata.put("direction", attr(&node, "dir")),
                "meta" => metadata.read_meta(&node),
                "link" | "a" => metadata.read_link(&node),
                "time" => metadata.put("first_time", attr(&node, "datetime")),
                _ => {}
            }
        }
        metadata
    }

    fn put(&mut self, key: &'static str, value: Option<String>) {
        if let Some(value) = value
            && !self.fields.iter().any(|(k, _)| *k == key)
        {
            self.fields.push((key, value));
        }
    }

    fn read_meta(&mut self, node: &NodeRef<'_>) {
        let Some(content) = attr(node, "content") else { return };
        for key in ["name", "property", "itemprop", "http-equiv"] {
            let Some(name) = attr(node, key) else { continue };
            let name = name.to_ascii_lowercase();
            if let Some((_, field)) = META.iter().find(|(known, _)| *known == name) {
                self.put(field, Some(content.clone()));
            }
        }
    }

    /// A licence may be named in the head or at a link in the text (`rel="license"`).
    fn read_link(&mut self, node: &NodeRef<'_>) {
        let Some(rel) = attr(node, "rel") else { return };
        let rel = rel.to_ascii_lowercase();
        let is = |word: &str| rel.split_ascii_whitespace().any(|part| part == word);
        if is("license") {
            self.put("license", attr(node, "href"));
        } else if is("canonical") {
            self.put("canonical", attr(node, "href"));
        }
    }

    /// The fields, with what the search for the main content found besides. That knows more places for author and
    /// date (JSON-LD among them), so it comes first.
    pub(super) fn into_fields(self, article: Option<Article>) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if let Some(article) = article {
            let found = [
                ("author", article.byline),
                ("published", article.published_time),
                ("modified", article.modified_time),
                ("site", article.site_name),
                ("language", article.lang),
                ("direction", article.dir),
            ];
            fields.extend(found.into_iter().filter_map(|(key, value)| Some((key, value?))));
        }
        // The first time that a page shows is a date of publication only where nothing better is said.
        let first_time = self.fields.iter().find(|(key, _)| *key == "first_time").map(|(_, value)| value.clone());
        fields.extend(self.fields.into_iter().filter(|(key, _)| *key != "first_time"));
        fields.extend(first_time.map(|time| ("published", time)));
        fields
    }
}

/// Whether a heading stands in a title, with ends of words on both sides.
fn is_part(title: &str, heading: &str) -> bool {
    title.find(heading).is_some_and(|at| {
        let (before, behind) = (&title[..at], &title[at + heading.len()..]);
        !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
    })
}

fn attr(node: &NodeRef<'_>, name: &str) -> Option<String> {
    let value = node.attr(name)?.trim().to_string();
    (!value.is_empty()).then_some(value)
}

fn text_of(node: &NodeRef<'_>) -> Option<String> {
    let text = node.text().split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_without_the_name_of_the_site() {
        for (html, expected) in [
            ("<title>Mozilla - Wikipedia</title><h1>Mozilla</h1>", Some("Mozilla")),
            ("<title>A: b | Code</title><h1>Code</h1><h2>A: <a>b</a></h2>", Some("A: b")),
            ("<title>Coding</title><h1>Cod</h1>", Some("Coding")),
            ("<title>A</title>", Some("A")),
            ("<title> </title><h2>B</h2>", Some("B")),
            ("<p>", None),
        ] {
            assert_eq!(Metadata::of(&Document::from(html)).title(), expected, "{html}");
        }
    }
}

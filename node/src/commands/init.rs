//! `plumb init`: a home.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use plumb_actors::Person;
use plumb_core::identity::{EntityId, EntityType, OrgId};
use plumb_core::trust::{Terms, VALIDITY_DEFAULT};
use serde::Serialize;

use crate::cli::Context;
use crate::exit::{Exit, UsageError};
use crate::home::{CertificateRequest, Home, Root, check_name, generate_key, write_atomically, write_key, write_new};
use crate::passphrase::PassphraseArgs;
use crate::{config, output};

/// The person of a home whose maker does not say for whom it is.
const PERSON_DEFAULT: &str = "operator";

/// Makes a home.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb init --org Northwater --department operations --person mara-lindqvist\n      \
    a node of a new organisation, whose root key is kept beside it\n  \
    plumb init --org Northwater --department laboratory --join\n      \
    a node that asks an organisation to certify it; its root key is elsewhere")]
pub struct InitArgs {
    /// The organisation's name
    #[arg(long, value_name = "NAME")]
    org: String,
    /// The department whose node it is, such as operations or department-operations
    #[arg(long, value_name = "DEPARTMENT")]
    department: String,
    /// For whom commands on this machine ask, such as mara-lindqvist or person-mara-lindqvist
    #[arg(long, value_name = "PERSON", default_value = PERSON_DEFAULT)]
    person: String,
    /// Join an organisation that exists: write a certificate request instead of founding one
    #[arg(long)]
    join: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// What was made.
#[derive(Debug, Serialize)]
struct InitView {
    home: PathBuf,
    node: String,
    department: String,
    person: String,
    organisation_name: String,
    /// The organisation's root, if it was founded here.
    organisation: Option<OrgId>,
    /// The certificate request, if there is one to be signed.
    request: Option<PathBuf>,
}

/// Makes a home.
pub fn run(cx: &Context, args: InitArgs) -> anyhow::Result<Exit> {
    let home = cx.home()?;
    let view = if args.join {
        make(&home, &args.org, &args.department, &args.person, Belonging::Joins)?
    } else {
        let passphrase = args.passphrase.given()?;
        make(&home, &args.org, &args.department, &args.person, Belonging::Founds { passphrase })?
    };
    output::emit(cx.json, &view, || show(&view))?;
    Ok(Exit::Done)
}

/// Makes a home of a new organisation whose root key has no passphrase: for a node that lives as long as a command.
pub fn found(home: &Home, org: &str, department: &str, person: &str) -> anyhow::Result<()> {
    make(home, org, department, person, Belonging::Founds { passphrase: None }).map(|_| ())
}

/// How a node comes to its organisation.
enum Belonging {
    /// It founds one.
    Founds { passphrase: Option<String> },
    /// It asks one to certify it.
    Joins,
}

fn make(home: &Home, org: &str, department: &str, person: &str, belonging: Belonging) -> anyhow::Result<InitView> {
    if home.exists() {
        bail!("there is a home in {} already", home.root().display());
    }
    home.check_socket_path()?;
    check_name(org)?;
    let department = named(EntityType::Department, department)?;
    let person = named(EntityType::Person, person)?;

    let key = generate_key();
    write_key(&home.keys(), "node.key", &key)?;
    let (mut organisation, mut request) = (None, None);
    match belonging {
        Belonging::Joins => {
            let wish = CertificateRequest::new(key.public(), department.clone(), org.to_string());
            write_new(&home.request_file(), &serde_json::to_vec_pretty(&wish)?)?;
            request = Some(home.request_file());
        }
        Belonging::Founds { passphrase } => {
            let root = Root::found(&home.keys(), org, passphrase.as_deref())?;
            let terms = Terms {
                department: department.clone(),
                capabilities: None,
                succeeds: Vec::new(),
                validity: VALIDITY_DEFAULT,
            };
            let certificate = root.certify(key.public(), terms)?;
            write_new(&home.certificate_file(), &certificate.to_bytes())?;
            organisation = Some(root.org());
        }
    }
    // Last, because it is what makes a folder a home: whoever is interrupted before has none.
    let someone = Person { id: person.clone(), teams: Vec::new(), departments: vec![department.clone()] };
    let text = config::render(&department.to_string(), &person.to_string(), &[someone]);
    write_atomically(&home.config_file(), text.as_bytes())?;

    Ok(InitView {
        home: home.root().to_path_buf(),
        node: key.public().to_string(),
        department: department.to_string(),
        person: person.to_string(),
        organisation_name: org.to_string(),
        organisation,
        request,
    })
}

fn named(kind: EntityType, name: &str) -> anyhow::Result<EntityId> {
    match name.parse::<EntityId>() {
        Ok(id) if id.kind() == kind => Ok(id),
        _ => EntityId::new(kind, name).map_err(|_| UsageError(format!("`{name}` names no {}", kind.as_str())).into()),
    }
}

fn show(view: &InitView) -> String {
    let mut text = format!(
        "A home for {} of {}, in {}\n  node    {}\n  person  {}\n",
        view.department,
        view.organisation_name,
        view.home.display(),
        view.node,
        view.person,
    );
    if let Some(organisation) = &view.organisation {
        let _ = write!(
            text,
            "  root    {organisation}\n\n\
             The organisation was founded here, and its root key lies in keys/, without a passphrase unless one was\n\
             given. Whoever has it certifies nodes; `plumb org init` makes one that lies apart from any node.\n\
             Next: plumb ingest PATH, plumb ask QUESTION, plumb up\n"
        );
    }
    if let Some(request) = &view.request {
        let _ = write!(
            text,
            "  request {}\n\n\
             Next: whoever keeps the root key of {} runs\n  \
             plumb org certify {} --root DIR --out certificate\n\
             and here\n  plumb org accept certificate\n",
            request.display(),
            view.organisation_name,
            request.display(),
        );
    }
    text
}

//! `plumb org`: founding an organisation, certifying its nodes, joining one. All of it works on files, not on a
//! running node: a root key belongs where no node runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use plumb_core::identity::Signed;
use plumb_core::measure::Duration;
use plumb_core::trust::Certificate;
use serde::Serialize;

use crate::cli::Context;
use crate::config::Config;
use crate::exit::Exit;
use crate::home::{Home, Root, check_own, read_certificate, read_request, write_atomically, write_new};
use crate::{output, span};

/// Organisations and certificates.
#[derive(Debug, Args)]
#[command(after_help = "Two nodes of one organisation, whose root key lies apart:\n  \
    plumb org init Northwater --out ~/root\n  \
    plumb init --home ~/a --org Northwater --department operations --join\n  \
    plumb org certify ~/a/node.request.json --root ~/root --install ~/a\n\n\
    Where the node is on another machine:\n  \
    plumb org certify node.request.json --root ~/root --out certificate\n  \
    plumb org accept certificate")]
pub struct OrgArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Found an organisation: a root key in a folder of its own
    Init {
        /// Its name
        name: String,
        /// Where the root key goes; a new folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Sign a node's certificate request with the root key
    #[command(group = clap::ArgGroup::new("where").required(true).args(["out", "install"]))]
    Certify {
        /// The request that `plumb init --join` wrote, or the home in which it lies
        request: PathBuf,
        /// The folder with the root key, or the home of the node that keeps it; otherwise this home
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Write the certificate into this file
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Install the certificate in this home, on this machine
        #[arg(long, value_name = "HOME")]
        install: Option<PathBuf>,
        /// How long it holds, such as 365d
        #[arg(long, value_name = "SPAN", default_value = "365d", value_parser = span::parse)]
        valid: Duration,
    },
    /// Check a certificate for this node, and install it
    Accept {
        /// The certificate
        certificate: PathBuf,
    },
    /// Show to whom this node belongs
    Show,
}

/// Does it.
pub fn run(cx: &Context, args: OrgArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Init { name, out } => init(cx, &name, &out),
        Verb::Certify { request, root, out, install, valid } => {
            let root = match root {
                Some(root) => root,
                None => cx.home()?.root().to_path_buf(),
            };
            certify(cx, &request, &root, out.as_deref(), install.as_deref(), valid)
        }
        Verb::Accept { certificate } => accept(cx, &certificate),
        Verb::Show => show(cx),
    }
}

#[derive(Debug, Serialize)]
struct FoundedView {
    organisation: String,
    name: String,
    folder: PathBuf,
}

fn init(cx: &Context, name: &str, out: &Path) -> anyhow::Result<Exit> {
    let root = Root::found(out, name)?;
    let view = FoundedView { organisation: root.org().to_string(), name: name.to_string(), folder: out.to_path_buf() };
    output::emit(cx.json, &view, || {
        format!(
            "Founded {name}\n  root  {}\n  key   {}\n\n\
             Others trust it with `plumb trust add {} --name \"{name}\"`.\n\
             Keep the key safe and apart from every node: whoever has it is the organisation.\n",
            view.organisation,
            out.join("organisation.key").display(),
            view.organisation,
        )
    })?;
    Ok(Exit::Done)
}

/// A certificate, for a reader.
#[derive(Debug, Serialize)]
struct CertificateView {
    organisation: String,
    name: String,
    node: String,
    department: String,
    not_before: String,
    not_after: String,
    /// Where it was written, or where it lies.
    file: PathBuf,
    /// Whether the root key lies in this home.
    root_is_here: bool,
}

impl CertificateView {
    fn of(certificate: &Signed<Certificate>, file: PathBuf, root_is_here: bool) -> CertificateView {
        let c = certificate.value();
        CertificateView {
            organisation: c.org.to_string(),
            name: c.org_name.clone(),
            node: c.node.to_string(),
            department: c.department.to_string(),
            not_before: c.not_before.to_string(),
            not_after: c.not_after.to_string(),
            file,
            root_is_here,
        }
    }

    fn show(&self, what: &str) -> String {
        format!(
            "{what}\n  organisation  {}, {}\n  node          {}\n  department    {}\n  valid         {} to {}\n  in            {}\n",
            self.name,
            self.organisation,
            self.node,
            self.department,
            self.not_before,
            self.not_after,
            self.file.display(),
        )
    }
}

fn certify(
    cx: &Context,
    request: &Path,
    root: &Path,
    out: Option<&Path>,
    install: Option<&Path>,
    valid: Duration,
) -> anyhow::Result<Exit> {
    let request = if request.is_dir() { request.join("node.request.json") } else { request.to_path_buf() };
    let request = read_request(&request)?;
    let root = Root::open(root)?;
    if request.organisation != root.name() {
        bail!("the node asks to belong to `{}`, and this is the root of `{}`", request.organisation, root.name());
    }
    let certificate = root.certify(request.node, request.department, valid)?;
    let file = match (out, install) {
        (_, Some(home)) => install_in(&Home::at(Some(home))?, &certificate)?,
        (Some(file), None) => {
            write_new(file, &certificate.to_bytes())?;
            file.to_path_buf()
        }
        (None, None) => bail!("name a place for the certificate with --out or --install"),
    };
    let view = CertificateView::of(&certificate, file, false);
    output::emit(cx.json, &view, || view.show("Certified"))?;
    Ok(Exit::Done)
}

fn accept(cx: &Context, file: &Path) -> anyhow::Result<Exit> {
    let certificate = read_certificate(file)?;
    let file = install_in(&cx.home()?, &certificate)?;
    let view = CertificateView::of(&certificate, file, false);
    output::emit(cx.json, &view, || view.show("This node now belongs to its organisation"))?;
    Ok(Exit::Done)
}

/// Puts a certificate into a home, if it is for the node there, its department, and the organisation that the node
/// belongs to already, if any.
fn install_in(home: &Home, certificate: &Signed<Certificate>) -> anyhow::Result<PathBuf> {
    let key = home.node_key()?;
    check_own(certificate, &key.public())?;
    let c = certificate.value();
    let department = Config::load(&home.config_file(), &[])?.department;
    if c.department != department {
        bail!("the certificate is for `{}`, and plumb.toml says `{department}`", c.department);
    }
    let file = home.certificate_file();
    if file.is_file() {
        let old = read_certificate(&file)?;
        if old.value().org != c.org {
            bail!(
                "this node belongs to {} ({}); a node does not change its organisation, because what it has signed \
                 stays signed for the old one. Make another home with `plumb init --join`",
                old.value().org_name,
                old.value().org
            );
        }
    }
    write_atomically(&file, &certificate.to_bytes())?;
    Ok(file)
}

fn show(cx: &Context) -> anyhow::Result<Exit> {
    let home = cx.home()?;
    let key = home.node_key()?;
    let certificate = home.certificate(&key).context("this node belongs to no organisation that it could speak for")?;
    let root_is_here = Root::folder(home.root()).is_some();
    let view = CertificateView::of(&certificate, home.certificate_file(), root_is_here);
    output::emit(cx.json, &view, || {
        let mut text = view.show("This node belongs to");
        if root_is_here {
            text.push_str("  root key      kept in this home\n");
        }
        text
    })?;
    Ok(Exit::Done)
}

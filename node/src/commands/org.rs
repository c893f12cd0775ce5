//! `plumb org`: founding an organisation, certifying its nodes, changing its root, taking nodes back, joining one. All of
//! it works on files: a root key belongs where no node runs. Only a revocation may go straight to the node of a home.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use plumb_actors::federation::PeersView;
use plumb_core::identity::{EntityId, EntityType, NodeId, Signed};
use plumb_core::measure::Duration;
use plumb_core::trust::{Capability, Certificate, Revocation, RevocationReason, RevocationTag, Terms};
use plumb_federation::wire::log_entry::LogEntry;
use serde::Serialize;

use crate::api::trust::StatementView;

use crate::cli::Context;
use crate::config::Config;
use crate::exit::Exit;
use crate::home::{
    CertificateRequest, Home, Root, check_own, read_certificate, read_request, write_atomically, write_new,
};
use crate::passphrase::PassphraseArgs;
use crate::{clock, output, session, span};

/// Organisations and certificates.
#[derive(Debug, Args)]
#[command(after_help = "Two nodes of one organisation, whose root key lies apart:\n  \
    plumb org init Northwater --root ~/root\n  \
    plumb init --home ~/a --org Northwater --department operations --join\n  \
    plumb org certify ~/a/node.request.json --root ~/root --install ~/a\n\n\
    Where the node is on another machine:\n  \
    plumb org certify node.request.json --root ~/root --out certificate\n  \
    plumb org accept certificate\n\n\
    A new root, and a node that counts no more:\n  \
    plumb org rotate --root ~/root --out rotation.plumb\n  \
    plumb trust rotate rotation.plumb --home ~/a\n  \
    plumb org revoke did:key:z6Mk… --root ~/root --reason key-compromise --home ~/a\n\n\
    The root key lies under a passphrase: it is read from --passphrase-file, PLUMB_ROOT_PASSPHRASE, or the terminal.\n\
    A wrong one ends with exit code 7.")]
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
        /// Where the root key goes; a new folder, apart from every node
        #[arg(long, value_name = "DIR", alias = "out")]
        root: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
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
        /// The department that the request has to name
        #[arg(long, value_name = "DEPARTMENT")]
        department: Option<String>,
        /// What the node may do: search, content, notices, witness; may be repeated. Everything, if nothing is said
        #[arg(long, value_name = "CAPABILITY")]
        capability: Vec<Capability>,
        /// A node whose evidence this one may take back in its stead; may be repeated
        #[arg(long, value_name = "DID")]
        succeeds: Vec<NodeId>,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
    /// Change the root key: a new one, and a statement signed by both that everybody can follow
    Rotate {
        /// The folder with the root key, or the home of the node that keeps it; otherwise this home
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Write the rotation into this file; nodes take it up with `plumb trust rotate`
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Read the passphrase of the new key from this file; otherwise it is that of the old one
        #[arg(long, value_name = "FILE")]
        new_passphrase_file: Option<PathBuf>,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
    /// Take a node, or one certificate of it, back
    Revoke {
        /// The node
        #[arg(value_name = "NODE")]
        node: NodeId,
        /// The folder with the root key, or the home of the node that keeps it; otherwise this home
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Why: key-compromise, key-lost, superseded, affiliation-changed, cessation or privilege-withdrawn
        #[arg(long, value_name = "REASON", value_parser = reason)]
        reason: RevocationReason,
        /// Why, in words
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Only this certificate; the node may be certified anew
        #[arg(long, value_name = "FILE")]
        certificate: Option<PathBuf>,
        /// How many entries of the node's log stand; otherwise as many as the publishing node holds
        #[arg(long, value_name = "N")]
        log_size: Option<u64>,
        /// Write the revocation into this file, for `plumb trust import`; otherwise the node of this home publishes it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
    /// Check a certificate for this node, and install it
    Accept {
        /// The certificate
        certificate: PathBuf,
    },
    /// Show to whom this node belongs, or whose root lies in a folder
    Show {
        /// The folder with the root key
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Write the last rotation of that root into this file again
        #[arg(long, value_name = "FILE", requires = "root")]
        rotation: Option<PathBuf>,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
}

fn reason(text: &str) -> Result<RevocationReason, String> {
    let Ok(reason) = text.parse::<RevocationReason>();
    match reason {
        RevocationReason::Other(_) => {
            Err("one of key-compromise, key-lost, superseded, affiliation-changed, cessation, \
             privilege-withdrawn"
                .to_string())
        }
        known => Ok(known),
    }
}

/// Does it.
pub async fn run(cx: &Context, args: OrgArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Init { name, root, passphrase } => init(cx, &name, &root, &passphrase),
        Verb::Certify { request, root, out, install, valid, department, capability, succeeds, passphrase } => {
            let root = Root::open(&place(cx, root)?, || passphrase.ask())?;
            let wish = read_wish(&request, department.as_deref(), &root)?;
            let capabilities = (!capability.is_empty()).then(|| capability.into_iter().collect());
            let terms = Terms { department: wish.department, capabilities, succeeds, validity: valid };
            certify(cx, &root, wish.node, terms, out.as_deref(), install.as_deref())
        }
        Verb::Rotate { root, out, new_passphrase_file, passphrase } => {
            rotate(cx, &place(cx, root)?, &out, new_passphrase_file, &passphrase)
        }
        Verb::Revoke { node, root, reason, note, certificate, log_size, out, passphrase } => {
            let root = Root::open(&place(cx, root)?, || passphrase.ask())?;
            let certificate = certificate.map(|file| read_certificate(&file)).transpose()?;
            if certificate.as_ref().is_some_and(|c| c.value().node != node) {
                bail!("the certificate is another node's");
            }
            let revocation = Revocation {
                tag: RevocationTag,
                org: root.org(),
                node,
                certificate: certificate.map(|c| c.cid()),
                reason,
                note,
                log_size,
                at: clock::now(),
            };
            revoke(cx, &root, revocation, out).await
        }
        Verb::Accept { certificate } => accept(cx, &certificate),
        Verb::Show { root: None, .. } => show(cx),
        Verb::Show { root: Some(dir), rotation, passphrase } => show_root(cx, &dir, rotation, &passphrase),
    }
}

fn place(cx: &Context, root: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match root {
        Some(root) => Ok(root),
        None => Ok(cx.home()?.root().to_path_buf()),
    }
}

#[derive(Debug, Serialize)]
struct FoundedView {
    organisation: String,
    name: String,
    folder: PathBuf,
}

fn init(cx: &Context, name: &str, folder: &Path, passphrase: &PassphraseArgs) -> anyhow::Result<Exit> {
    let root = Root::found(folder, name, Some(&passphrase.choose()?))?;
    let (organisation, name, folder) = (root.org().to_string(), name.to_string(), folder.to_path_buf());
    let view = FoundedView { organisation, name: name.clone(), folder };
    output::emit(cx.json, &view, || {
        format!(
            "Founded {name}\n  root  {}\n  key   {}\n\n\
             Others trust it with `plumb trust add {} --name \"{name}\"`.\n\
             Keep the key safe and apart from every node, and its passphrase apart from the key: whoever has both is\n\
             the organisation.\n",
            view.organisation,
            root.file().display(),
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
    /// What the node may do; everything if nothing is said.
    capabilities: Option<Vec<String>>,
    /// Nodes whose evidence it may take back.
    succeeds: Vec<String>,
    /// The certificate, as it would be revoked.
    certificate: String,
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
            capabilities: c.capabilities.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
            succeeds: c.succeeds.iter().map(ToString::to_string).collect(),
            certificate: certificate.cid().to_string(),
            file,
            root_is_here,
        }
    }

    fn show(&self, what: &str) -> String {
        let mut text = format!(
            "{what}\n  organisation  {}, {}\n  node          {}\n  department    {}\n  valid         {} to {}\n  may           {}\n  in            {}\n",
            self.name,
            self.organisation,
            self.node,
            self.department,
            self.not_before,
            self.not_after,
            self.capabilities.as_ref().map_or("everything".to_string(), |all| all.join(", ")),
            self.file.display(),
        );
        for node in &self.succeeds {
            text.push_str(&format!("  succeeds      {node}\n"));
        }
        text
    }
}

/// What a node asks for, if this root may give it.
fn read_wish(request: &Path, department: Option<&str>, root: &Root) -> anyhow::Result<CertificateRequest> {
    let request = if request.is_dir() { request.join("node.request.json") } else { request.to_path_buf() };
    let wish = read_request(&request)?;
    if wish.organisation != root.name() {
        bail!("the node asks to belong to `{}`, and this is the root of `{}`", wish.organisation, root.name());
    }
    if let Some(named) = department {
        let named = named.parse().or_else(|_| EntityId::new(EntityType::Department, named))?;
        if wish.department != named {
            bail!("the node asks to be of `{}`, and not of `{named}`", wish.department);
        }
    }
    Ok(wish)
}

fn certify(
    cx: &Context,
    root: &Root,
    node: NodeId,
    terms: Terms,
    out: Option<&Path>,
    install: Option<&Path>,
) -> anyhow::Result<Exit> {
    let certificate = root.certify(node, terms)?;
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

#[derive(Debug, Serialize)]
struct RotatedView {
    /// The organisation, which keeps its name.
    organisation: String,
    name: String,
    old: String,
    new: String,
    file: PathBuf,
}

fn rotate(
    cx: &Context,
    dir: &Path,
    out: &Path,
    new_passphrase_file: Option<PathBuf>,
    passphrase: &PassphraseArgs,
) -> anyhow::Result<Exit> {
    // Nothing is changed before it is sure that the rotation can be handed on.
    if out.exists() {
        bail!("{} is there already and is not written over", out.display());
    }
    // The passphrase of a key that has none is chosen; of one that has one it is asked for once, and kept.
    let mut given = None;
    let root = Root::open(dir, || {
        let answer = passphrase.ask()?;
        given = Some(answer.clone());
        Ok(answer)
    })?;
    let next_passphrase = match (new_passphrase_file, given) {
        (Some(file), _) => PassphraseArgs::of_file(file).choose()?,
        (None, Some(given)) => given,
        (None, None) => passphrase.choose()?,
    };
    let (root, rotation) = root.rotate(&next_passphrase)?;
    write_new(out, &LogEntry::Rotation(rotation.clone()).encode())?;
    let view = RotatedView {
        organisation: root.org().to_string(),
        name: root.name().to_string(),
        old: rotation.value().old.to_string(),
        new: rotation.value().new.to_string(),
        file: out.to_path_buf(),
    };
    output::emit(cx.json, &view, || {
        format!(
            "{} has a new root; its name stays {}\n  old  {}\n  new  {}\n  in   {}\n\n\
             Take the rotation up on one of your nodes: `plumb trust rotate {}`. From its log everybody hears of it.\n\
             Then certify your nodes anew with `plumb org certify`: what the old root signs from now on counts nowhere.\n",
            view.name,
            view.organisation,
            view.old,
            view.new,
            root.file().display(),
            out.display(),
        )
    })?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct RevokedView {
    organisation: String,
    node: String,
    certificate: Option<String>,
    reason: String,
    /// How many entries of its log stand, if that is said.
    log_size: Option<u64>,
    /// Where it was written, if it was not published.
    file: Option<PathBuf>,
    published: bool,
}

async fn revoke(cx: &Context, root: &Root, mut revocation: Revocation, out: Option<PathBuf>) -> anyhow::Result<Exit> {
    let entry =
        |revocation: &Revocation| Ok::<_, anyhow::Error>(LogEntry::Revocation(root.sign(revocation.clone())?).encode());
    let published = match &out {
        Some(file) => {
            write_new(file, &entry(&revocation)?)?;
            false
        }
        None => {
            let taken: StatementView = session::with_node(cx, async |client| {
                // All are to draw the line at the same place: where this node's copy of the log ends.
                if revocation.log_size.is_none() {
                    let peers: PeersView = client.get("/v1/peers").await.unwrap_or_else(|_| PeersView::default());
                    let node = revocation.node.to_string();
                    let held = peers.peers.iter().find(|p| p.node == node).map(|p| p.log_size);
                    revocation.log_size = held.filter(|n| *n > 0);
                }
                client.post_file("/v1/trust/statements", "application/cbor", entry(&revocation)?).await
            })
            .await?;
            taken.published
        }
    };
    let view = RevokedView {
        organisation: revocation.org.to_string(),
        node: revocation.node.to_string(),
        certificate: revocation.certificate.map(|cid| cid.to_string()),
        reason: revocation.reason.to_string(),
        log_size: revocation.log_size,
        file: out,
        published,
    };
    output::emit(cx.json, &view, || {
        let what = if view.certificate.is_some() { "A certificate of" } else { "The node" };
        let mut text = format!("{what} {} is revoked: {}\n", view.node, view.reason.replace('_', " "));
        if let Some(n) = view.log_size {
            text.push_str(&format!("  the first {n} entries of its log stand\n"));
        }
        match &view.file {
            Some(file) => text.push_str(&format!(
                "  in  {}\n\nTake it up on one of your nodes: `plumb trust import {}`. From its log everybody hears of it.\n",
                file.display(),
                file.display()
            )),
            None if view.published => text.push_str("  published in the log of this home's node\n"),
            None => text.push_str("  taken up by this home's node, which is of another organisation and publishes nothing\n"),
        }
        text
    })?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct RootView {
    organisation: String,
    name: String,
    /// Its roots, from the first to the current one.
    roots: Vec<String>,
    file: PathBuf,
}

fn show_root(cx: &Context, dir: &Path, rotation: Option<PathBuf>, passphrase: &PassphraseArgs) -> anyhow::Result<Exit> {
    let root = Root::open(dir, || passphrase.ask())?;
    if let Some(file) = rotation {
        let Some(last) = root.rotations().last() else { bail!("this root was never rotated") };
        write_new(&file, &LogEntry::Rotation(last.clone()).encode())?;
    }
    let roots = std::iter::once(root.org()).chain(root.rotations().iter().map(|r| r.value().new));
    let view = RootView {
        organisation: root.org().to_string(),
        name: root.name().to_string(),
        roots: roots.map(|key| key.to_string()).collect(),
        file: root.file(),
    };
    output::emit(cx.json, &view, || {
        let mut text = format!("The root of {}\n  organisation  {}\n", view.name, view.organisation);
        for (key, n) in view.roots.iter().zip(1..) {
            text.push_str(&format!("  root {n}        {key}\n"));
        }
        text.push_str(&format!("  in            {}\n", view.file.display()));
        text
    })?;
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

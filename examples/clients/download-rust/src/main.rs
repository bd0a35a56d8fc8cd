//! Finds a model, downloads its files by digest, continues broken downloads and verifies SHA-256.
//! Rust 1.65 or newer; a model's name does in place of words:
//!
//!     cargo run -- https://hub.example.org "words to search for" folder
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn get(mut request: ureq::Request) -> Result<ureq::Response> {
    if let Ok(token) = env::var("HF_TOKEN") {
        if !token.is_empty() {
            request = request.set("Authorization", &format!("Bearer {token}"));
        }
    }
    match request.call() {
        Err(ureq::Error::Status(status, answer)) => {
            // RFC 9457: the detail says what to do.
            let problem: Value = serde_json::from_reader(answer.into_reader()).unwrap_or_default();
            match (problem["title"].as_str(), problem["detail"].as_str()) {
                (Some(title), Some(detail)) => Err(format!("{title}: {detail}").into()),
                _ => Err(format!("The hub answered {status}.").into()),
            }
        }
        answer => Ok(answer?),
    }
}

fn json(address: &str, query: &[(&str, &str)]) -> Result<Value> {
    let request = query
        .iter()
        .fold(ureq::get(address), |request, (name, value)| {
            request.query(name, value)
        });
    Ok(serde_json::from_reader(get(request)?.into_reader())?)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Adds the bytes from `start` on to a partial file, or all of them where the hub sends all;
/// returns why no more came.
fn receive(address: &str, part: &Path, digest: &str, start: u64) -> Result<String> {
    let mut request = ureq::get(address);
    if start > 0 {
        // The ETag of a file is its SHA-256.
        let etag = format!("\"{digest}\"");
        request = request
            .set("Range", &format!("bytes={start}-"))
            .set("If-Range", &etag);
    }
    let answer = get(request)?;
    let is_rest = answer.status() == 206;
    let mut options = fs::OpenOptions::new();
    options
        .create(true)
        .write(true)
        .append(is_rest)
        .truncate(!is_rest);
    let copied = io::copy(&mut answer.into_reader(), &mut options.open(part)?);
    Ok(copied.map_or_else(|error| error.to_string(), |_| "the connection ended".into()))
}

/// Continues an unfinished download; the file gets its name once its digest is right.
fn save(address: &str, target: &Path, digest: &str, size: u64) -> Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let part = PathBuf::from(format!("{}.part", target.display()));
    let name = target.display();
    let start = size_of(&part);
    if start == 0 || start < size {
        let cause = receive(address, &part, digest, start)?;
        let count = size_of(&part);
        if count < size {
            return Err(format!(
                "The download of {name} broke after {count} of {size} bytes ({cause}). \
                 Run the same command again to continue it."
            )
            .into());
        }
    }
    let mut hash = Sha256::new();
    io::copy(&mut fs::File::open(&part)?, &mut hash)?;
    if format!("{:x}", hash.finalize()) != digest {
        fs::remove_file(&part)?;
        return Err(
            format!("{name} does not have the digest of its version. Download it again.").into(),
        );
    }
    Ok(fs::rename(part, target)?)
}

/// The name of the model, and why it fits.
fn find(hub: &str, words: &str) -> Result<(String, Vec<Value>)> {
    let parts: Vec<&str> = words.split('/').collect();
    if parts.len() == 2
        && parts
            .iter()
            .all(|part| !part.is_empty() && !part.contains(' '))
    {
        return Ok((words.into(), vec![]));
    }
    // The hub reads filters such as a task or a size from the question; the rest is searched for.
    let page = json(
        &format!("{hub}/api/v1/models"),
        &[("limit", "1"), ("understand", "true"), ("q", words)],
    )?;
    let Some(model) = page["items"].get(0) else {
        return Err(format!("No model matches {words:?}.").into());
    };
    let name = format!("{}/{}", text(&model["namespace"]), text(&model["name"]));
    Ok((name, model["fits"].as_array().cloned().unwrap_or_default()))
}

fn run() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [hub, words, folder] = &arguments[..] else {
        return Err("usage: download HUB WORDS FOLDER".into());
    };
    let (name, fits) = find(hub, words)?;
    let version = json(&format!("{hub}/api/v1/resolve"), &[("ref", &name)])?;
    println!("{}", text(&version["ref"]));
    for fit in fits {
        println!(
            "{} {}: {} ({})",
            text(&fit["constraint"]),
            fit["limit"],
            fit["value"],
            text(&fit["basis"])
        );
    }
    for file in version["files"].as_array().into_iter().flatten() {
        let path = text(&file["path"]);
        let digest = text(&file["sha256"]).trim_start_matches("sha256:");
        let size = file["size"].as_u64().unwrap_or_default();
        let target = Path::new(folder).join(path);
        save(
            &format!("{hub}/api/v1/blobs/{digest}"),
            &target,
            digest,
            size,
        )?;
        println!("{digest}  {path}");
    }
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        process::exit(1);
    }
}

//! Finds a model, downloads its files by digest and verifies them. Rust 1.65 or newer:
//!
//!     cargo run -- https://hub.example.org "words to search for" folder
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::io::{Read, Write};
use std::path::Path;
use std::{env, fs, process};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn get(address: &str, query: &[(&str, &str)]) -> Result<ureq::Response> {
    let mut request = ureq::get(address);
    for (name, value) in query {
        request = request.query(name, value);
    }
    if let Ok(token) = env::var("HF_TOKEN") {
        if !token.is_empty() {
            request = request.set("Authorization", &format!("Bearer {token}"));
        }
    }
    match request.call() {
        Err(ureq::Error::Status(_, answer)) => {
            let problem: Value = serde_json::from_reader(answer.into_reader())?; // RFC 9457
            Err(format!("{}: {}", text(&problem["title"]), text(&problem["detail"])).into())
        }
        answer => Ok(answer?),
    }
}

fn json(address: &str, query: &[(&str, &str)]) -> Result<Value> {
    Ok(serde_json::from_reader(get(address, query)?.into_reader())?)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Writes a file while it comes, and removes it where its digest is another.
fn save(body: ureq::Response, target: &Path, digest: &str) -> Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut output = fs::File::create(target)?;
    let (mut reader, mut hash) = (body.into_reader(), Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut block)?;
        if count == 0 {
            break;
        }
        hash.update(&block[..count]);
        output.write_all(&block[..count])?;
    }
    if format!("{:x}", hash.finalize()) != digest {
        fs::remove_file(target)?;
        let name = target.display();
        return Err(format!("{name} is not what the hub names. Download it again.").into());
    }
    Ok(())
}

fn run() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [hub, words, folder] = &arguments[..] else {
        return Err("usage: download HUB WORDS FOLDER".into());
    };
    let page = json(
        &format!("{hub}/api/v1/models"),
        &[("limit", "1"), ("understand", "true"), ("q", words)],
    )?;
    let Some(model) = page["items"].get(0) else {
        return Err(format!("No model matches {words:?}.").into());
    };
    let name = format!("{}/{}", text(&model["namespace"]), text(&model["name"]));
    let version = json(&format!("{hub}/api/v1/resolve"), &[("ref", &name)])?;
    println!("{}", text(&version["ref"]));
    for fit in model["fits"].as_array().into_iter().flatten() {
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
        let body = get(&format!("{hub}/api/v1/blobs/{digest}"), &[])?;
        save(body, &Path::new(folder).join(path), digest)?;
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

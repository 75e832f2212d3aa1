//! A file that is written and read.

use herm_protocol::ByteString;
use serde_json::{Value, json};

use super::{
    complaint::Complaint,
    refusal::{describe_error, result_message},
    walk::{ANSWER, Walk},
};

/// Bytes that are text in no encoding, with a NUL and no newline at the end.
const CONTENT: &[u8] = b"caf\xe9\0\r\nend";

pub(super) async fn files(walk: &mut Walk<'_>) {
    let data = serde_json::to_value(ByteString::from(CONTENT)).unwrap_or_default();
    let content = json!({"data": data, "size": CONTENT.len()});
    let id = walk.talk.next_id();
    walk.expect(
        format!(
            "the file has the {} bytes that were written, sent as b64",
            CONTENT.len()
        ),
        [result_message(id, &json!({})), result_message(id + 1, &content)],
    );
    let path = path(walk);
    let file = |more: Value| {
        let mut params = json!({"sandbox": walk.sandbox.clone().unwrap_or_default(), "path": path});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params
    };
    let (write, read, remove) = (file(json!({"data": data})), file(json!({})), file(json!({})));
    if ask(walk, "file.write", &write).await.is_none() {
        return;
    }
    if let Some(answer) = ask(walk, "file.read", &read).await {
        let seen = serde_json::from_value::<ByteString>(answer["data"].clone()).unwrap_or_default();
        if seen.as_bytes() != CONTENT {
            walk.complain(
                Complaint::new(
                    "content",
                    format!("the file came back as {seen:?}; expected {:?}", ByteString::from(CONTENT)),
                    "bytes that are no UTF-8 travel as {\"b64\":\"…\"}: decode params.data before you write it, read the file as bytes, and \
                     send them as b64 when they are not valid UTF-8",
                )
                .at("result.data"),
            );
        }
        if answer["size"]
            .as_u64()
            .is_some_and(|size| size != CONTENT.len() as u64)
        {
            walk.complain(
                Complaint::new(
                    "size",
                    format!("result.size is {}; expected {}", answer["size"], CONTENT.len()),
                    "send the size of the whole file, in bytes",
                )
                .at("result.size"),
            );
        }
    }
    ask(walk, "file.remove", &remove).await;
}

async fn ask(walk: &mut Walk<'_>, method: &str, params: &Value) -> Option<Value> {
    match walk.call(method, params, ANSWER).await? {
        Ok(answer) => Some(answer),
        Err(error) => {
            walk.complain(
                Complaint::new(
                    "refused",
                    format!("{method} was refused: {}", describe_error(&error)),
                    "the capability files needs all of file.read, .write, .stat, .list, .remove, .mkdir, .move and .chmod",
                )
                .of_its_own(),
            );
            None
        }
    }
}

/// A path in the sandbox's working directory, where it is told.
fn path(walk: &Walk<'_>) -> String {
    let name = format!("herm-smoke-{}", std::process::id());
    match &walk.workdir {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None if walk.choice("relative_path") == Some("workdir") => name,
        None => format!("/tmp/{name}"),
    }
}

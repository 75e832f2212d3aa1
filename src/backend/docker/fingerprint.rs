//! What a container is known by to be what is asked for.

use herm_protocol::{Error, hexadecimal};
use herm_resident::wire::sha256;

use super::image::Image;
use crate::{backend::local::Mode, lifecycle::Life, policy::Plan};

/// Bytes of a digest in a fingerprint.
const WHOLE: usize = 16;

/// Bytes of the digest of a part: it decides nothing, and only tells what has changed.
const PART: usize = 4;

/// The digests of everything that a container is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Of everything together: it decides.
    pub(super) whole: String,
    /// Of each part, as `part:digest,…`.
    pub(super) parts: String,
}

impl Fingerprint {
    /// The fingerprint of what a plan, an image and a mode make.
    ///
    /// # Errors
    /// The plan cannot be written down, which is a fault of this program.
    pub(super) fn of(plan: &Plan, image: &Image, mode: Mode, life: Life) -> Result<Self, Error> {
        let life = format!("{life:?}");
        let mut whole = plan.digest_input()?;
        whole.extend_from_slice(image.id.as_bytes());
        whole.extend_from_slice(mode.name().as_bytes());
        whole.extend_from_slice(life.as_bytes());
        let parts = plan.parts_for_digest()?;
        let others = [
            ("image", image.id.clone().into_bytes()),
            ("lifetime", life.into_bytes()),
        ];
        let parts = others.into_iter().chain(parts).map(|(name, bytes)| {
            let digest = hexadecimal(&sha256(&bytes)[..PART]);
            format!("{name}:{digest}")
        });
        Ok(Self {
            whole: hexadecimal(&sha256(&whole)[..WHOLE]),
            parts: parts.collect::<Vec<_>>().join(","),
        })
    }

    /// The parts that a container was made of otherwise, by what it was labelled with.
    pub(super) fn changed(&self, labelled: Option<&str>) -> Vec<String> {
        let labelled: Vec<&str> = labelled.unwrap_or_default().split(',').collect();
        let own = self.parts.split(',').filter(|part| !labelled.contains(part));
        own.filter_map(|part| part.split_once(':'))
            .map(|(name, _)| name.to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_that_differ_are_told() {
        let own = Fingerprint {
            whole: String::new(),
            parts: "image:01,limits:02,network:03".into(),
        };
        assert!(own.changed(Some("image:01,limits:02,network:03")).is_empty());
        assert_eq!(
            own.changed(Some("image:01,limits:0,network:04")),
            ["limits", "network"]
        );
        assert_eq!(own.changed(None), ["image", "limits", "network"]);
    }
}

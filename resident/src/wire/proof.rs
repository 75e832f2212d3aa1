//! How a client and the resident prove to each other that they know the same secret, without saying it.
//!
//! Each side sends a nonce and answers with an HMAC-SHA256 (RFC 2104) over both, under the secret and with its own role in
//! it, so that neither can be made to speak for the other, and nothing that was recorded can be played again.

use super::sha256::Sha256;

/// Bytes of a secret.
pub const SECRET: usize = 32;

/// Bytes of a nonce.
pub const NONCE: usize = 32;

/// Bytes of a proof.
pub const MAC: usize = 32;

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client, in [`Request::Prove`](super::Request::Prove).
    Client,
    /// The resident, in [`Reply::Hello`](super::Reply::Hello).
    Resident,
}

/// What both sides have said before the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The version that the resident has chosen.
    pub version: u16,
    /// The client's nonce.
    pub client: [u8; NONCE],
    /// The resident's nonce.
    pub resident: [u8; NONCE],
}

impl Transcript {
    /// The proof of one side.
    #[must_use]
    pub fn prove(&self, secret: &[u8; SECRET], role: Role) -> [u8; MAC] {
        let role: &[u8] = match role {
            Role::Client => b"herm resident: the client proves itself",
            Role::Resident => b"herm resident: the resident proves itself",
        };
        hmac(
            secret,
            &[role, &self.version.to_le_bytes(), &self.client, &self.resident],
        )
    }

    /// Whether a proof is that of the other side. It takes the same time whatever the proof is.
    #[must_use]
    pub fn is_proved(&self, secret: &[u8; SECRET], role: Role, proof: &[u8; MAC]) -> bool {
        let expected = self.prove(secret, role);
        let difference = expected
            .iter()
            .zip(proof)
            .fold(0, |all, (left, right)| all | left ^ right);
        std::hint::black_box(difference) == 0
    }
}

/// HMAC-SHA256 of the parts, one after the other.
#[must_use]
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC] {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..MAC].copy_from_slice(&super::sha256(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::default();
    inner.update(&block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::default();
    outer.update(&block.map(|byte| byte ^ 0x5c));
    outer.update(&inner.finish());
    outer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: [u8; MAC]) -> String {
        let [high, low] = [0, 16].map(|at| u128::from_be_bytes(bytes[at..at + 16].try_into().unwrap()));
        format!("{high:032x}{low:032x}")
    }

    /// RFC 4231, test cases 1, 2, 3 and 6.
    #[test]
    fn the_examples_of_rfc_4231() {
        for (key, data, mac) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(hmac(&key, &[&data])), mac);
            let (left, right) = data.split_at(data.len() / 2);
            assert_eq!(hex(hmac(&key, &[left, right])), mac);
        }
    }

    #[test]
    fn only_the_right_secret_role_and_transcript_prove() {
        let transcript = Transcript {
            version: 1,
            client: [1; NONCE],
            resident: [2; NONCE],
        };
        let proof = transcript.prove(&[7; SECRET], Role::Client);
        assert!(transcript.is_proved(&[7; SECRET], Role::Client, &proof));
        assert!(!transcript.is_proved(&[8; SECRET], Role::Client, &proof));
        assert!(!transcript.is_proved(&[7; SECRET], Role::Resident, &proof));
        let swapped = Transcript {
            client: [2; NONCE],
            resident: [1; NONCE],
            ..transcript
        };
        assert!(!swapped.is_proved(&[7; SECRET], Role::Client, &proof));
        let other_version = Transcript {
            version: 2,
            ..transcript
        };
        assert!(!other_version.is_proved(&[7; SECRET], Role::Client, &proof));
    }
}

//! CRC-32 as in Ethernet and gzip (ISO 3309, reflected, polynomial 0xEDB88320).

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0_u8;
    loop {
        let mut value = u32::from_le_bytes([index, 0, 0, 0]);
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                value >> 1 ^ 0xedb8_8320
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index as usize] = value;
        if index == u8::MAX {
            return table;
        }
        index += 1;
    }
}

/// The checksum of bytes.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        let [low, ..] = sum.to_le_bytes();
        sum >> 8 ^ TABLE[usize::from(low ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of parametrised CRC algorithms, and other known sums.
    #[test]
    fn known_sums() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }
}

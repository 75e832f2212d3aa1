//! Addresses of a machine, and of a sandbox that is told as one.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// Where a Linux system tells its addresses: `|-- ADDRESS`, and below it `/32 host LOCAL` where it is its own.
pub(super) const FILE: &str = "/proc/net/fib_trie";

/// An address of documentation, which nobody has (RFC 5737): asking how to get there sends nothing.
const NOWHERE: &str = "192.0.2.1:9";

/// The addresses in that file which belong to the system itself, but for those of its loopback; each once, in order.
pub(super) fn own_addresses(told: &str) -> Vec<Ipv4Addr> {
    let (mut own, mut last) = (Vec::new(), None);
    for line in told.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line.ends_with("host LOCAL")
            && let Some(address) = last.filter(|address| !address.is_loopback())
            && !own.contains(&address)
        {
            own.push(address);
        }
    }
    own
}

/// The addresses under which whoever shares a network with this machine can reach it, and that of its loopback.
pub(super) fn of_this_machine() -> Vec<Ipv4Addr> {
    const MOST: usize = 5;
    let told = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut addresses = own_addresses(&told);
    addresses.truncate(MOST);
    if addresses.is_empty() {
        addresses.extend(way_out());
    }
    addresses.push(Ipv4Addr::LOCALHOST);
    addresses
}

/// The address that this machine would send from.
fn way_out() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(NOWHERE).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_loopback() => Some(address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
           |-- 127.0.0.1
              /32 host LOCAL
     +-- 172.17.0.0/16 2 0 2
           |-- 172.17.0.0
              /16 link UNICAST
           |-- 172.17.0.2
              /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
Local:
           |-- 172.17.0.2
              /32 host LOCAL
           |-- 10.0.0.7
              /32 host LOCAL
";

    #[test]
    fn only_what_is_its_own_and_no_loopback_is_an_address_of_a_system() {
        let told: Vec<_> = own_addresses(TOLD).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["172.17.0.2", "10.0.0.7"]);
        assert!(own_addresses("").is_empty());
    }

    #[test]
    fn this_machine_has_a_loopback_at_least() {
        assert_eq!(of_this_machine().last(), Some(&Ipv4Addr::LOCALHOST));
    }
}

//! The smallest adapter does what the guide says of it.

use std::fs;

use super::docs;
use crate::support::Place;

#[test]
fn the_smallest_adapter_keeps_all_that_can_be_tested_of_it() {
    let place = Place::new();
    fs::copy(docs().join("adapter/smallest.py"), place.path("smallest.py")).unwrap();
    let adapter = "name = \"smallest\"\nadapter = [\"python3\", \"smallest.py\"]\n";
    place.write(
        "smallest.toml",
        &format!("{adapter}expectations = \"known.toml\"\n"),
    );
    place.run("smoke --adapter python3 smallest.py", &[]).code(0);

    // As the guide tells: what needs a condition is inconclusive, which is 1 until it is known. The file is named before
    // it is there.
    let run = "run --subject smallest.toml --validate";
    place.run(run, &["--write-expectations", "known.toml"]).code(1);
    let report = place.report();
    let rows = report["subjects"][0]["requirements"].as_array().unwrap();
    let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count();
    for row in rows.iter().filter(|row| row["verdict"] == "inconclusive") {
        let seen = row["detail"]["seen"].as_str().unwrap();
        assert!(seen.contains("does not offer"), "{row}");
    }
    let failed: Vec<_> = rows.iter().filter(|row| row["verdict"] == "failed").collect();
    assert_eq!((failed.len(), count("error")), (0, 0), "{failed:#?}");
    assert!(count("inconclusive") > 0, "process.md tells of some");
    place.run(run, &[]).code(0);
}

//! Who the backend is, and what is missing on this machine.

use herm_protocol::{
    VERSION,
    initialize::{InitializeParams, Initialized, Limits, Preflight, Problem},
};

use super::{ManifestAdapter, Names, OPERATION, lines, lock};
use crate::manifest::run;

impl ManifestAdapter {
    pub(super) async fn introduce(&self, params: InitializeParams) -> Initialized {
        *lock(&self.names) = Names {
            run: params.run,
            scratch: params.scratch,
        };
        let version = match &self.manifest.version {
            Some(version) => {
                let output = run::output(
                    &version.get_ref().fill(&self.values()),
                    None,
                    OPERATION,
                    run::WORDS,
                )
                .await;
                output
                    .ok()
                    .and_then(|output| lines(&output.stdout).into_iter().next())
                    .unwrap_or_default()
            }
            None => String::new(),
        };
        let manifest = &self.manifest;
        Initialized {
            protocol: VERSION.into(),
            name: manifest.name.get_ref().clone(),
            version,
            homepage: manifest.homepage.clone(),
            backend: manifest.backend.clone(),
            mode: Some("manifest".into()),
            emulated: false,
            capabilities: manifest
                .capabilities
                .iter()
                .map(|name| name.get_ref().clone())
                .collect(),
            choices: manifest
                .choices
                .iter()
                .map(|(name, variant)| (name.get_ref().clone(), variant.get_ref().clone()))
                .collect(),
            limits: Limits::default(),
            parallelism: *manifest.parallelism.get_ref(),
        }
    }

    /// Looks at everything at the same time: each look may take as long as the caller waits for them all.
    pub(super) async fn look_for_problems(&self) -> Preflight {
        let values = self.values();
        let looks = self.manifest.preflight.iter().map(|check| {
            let (check, values) = (check.get_ref(), &values);
            async move {
                let output =
                    run::output(&check.run.get_ref().fill(values), None, OPERATION, run::WORDS).await;
                let complaint = match output {
                    Ok(output) if output.code == Some(0) => return None,
                    Ok(output) => output.complaint(),
                    Err(error) => error.to_string(),
                };
                Some(Problem {
                    what: format!("{} ({complaint})", check.missing),
                    fix: check.fix.clone(),
                })
            }
        });
        let problems = futures::future::join_all(looks).await;
        Preflight {
            problems: problems.into_iter().flatten().collect(),
        }
    }
}

//! The tables and views, and how they change between versions. A migration is one file of SQL that both databases
//! read; its name is the version that it makes. A version that was released never changes.

/// Version of the schema that this program reads and writes.
pub const SCHEMA: i64 = 1;

/// SQL of each migration. The first makes version 1 of an empty store.
const MIGRATIONS: [&str; SCHEMA as usize] = [include_str!("1.sql")];

/// What differs between the databases in the definition of a table.
pub(crate) struct Dialect {
    /// Key that the database assigns, and never assigns again.
    pub(crate) id: &'static str,
    /// Type of binary data.
    pub(crate) bytes: &'static str,
    /// Suffix of a table that is stored in the order of its primary key.
    pub(crate) clustered: &'static str,
    /// Function that makes a readable time of ms since the epoch; `{}` is the column.
    pub(crate) time: &'static str,
}

/// SQL of each migration from version `found`, with the version that it makes.
pub(crate) fn migrations(found: i64, dialect: &Dialect) -> Vec<(i64, String)> {
    let versions = (1..).zip(MIGRATIONS);
    versions
        .filter(|(version, _)| *version > found)
        .map(|(version, sql)| (version, adapt(sql, dialect)))
        .collect()
}

fn adapt(sql: &str, dialect: &Dialect) -> String {
    let mut text = sql
        .replace("{id}", dialect.id)
        .replace("{bytes}", dialect.bytes)
        .replace(" {clustered}", dialect.clustered);
    while let Some((before, rest)) = text.split_once("{time:") {
        let Some((column, after)) = rest.split_once('}') else { break };
        text = format!("{before}{}{after}", dialect.time.replace("{}", column));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_replaced() {
        let dialect = Dialect { id: "ID", bytes: "BYTES", clustered: " CLUSTERED", time: "time({})" };
        let all = migrations(0, &dialect);
        assert_eq!(all.len(), SCHEMA as usize);
        for (_, sql) in &all {
            let code: Vec<&str> = sql.lines().filter(|line| !line.starts_with("--")).collect();
            assert!(code.iter().all(|line| !line.contains(['{', '}'])), "{sql}");
            assert!(sql.contains("time(run.begun_ms) AS begun_utc") && sql.contains(") CLUSTERED;"), "{sql}");
        }
        assert!(migrations(SCHEMA, &dialect).is_empty());
    }
}

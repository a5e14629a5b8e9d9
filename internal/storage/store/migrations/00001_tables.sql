-- One text for SQLite and PostgreSQL. BYTEA is a type that SQLite does not know
-- and leaves values alone for; times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE plans (
    name       TEXT   NOT NULL PRIMARY KEY,
    signed     BYTEA  NOT NULL,
    registered BIGINT NOT NULL
);

-- What taking part in the plan costs a member of the population.
CREATE TABLE spendings (
    plan       TEXT             NOT NULL PRIMARY KEY REFERENCES plans (name),
    population TEXT             NOT NULL,
    publisher  TEXT             NOT NULL,
    epsilon    DOUBLE PRECISION NOT NULL CHECK (epsilon >= 0),
    delta      DOUBLE PRECISION NOT NULL CHECK (delta >= 0 AND delta <= 1),
    adjacency  TEXT             NOT NULL,
    users      BIGINT           NOT NULL,
    method     TEXT             NOT NULL,
    note       TEXT             NOT NULL,
    spent      BIGINT           NOT NULL
);
CREATE INDEX spendings_population ON spendings (population);

CREATE TABLE batches (
    plan        TEXT   NOT NULL REFERENCES plans (name),
    instance    BIGINT NOT NULL,
    crowd       BIGINT NOT NULL,
    sha256      BYTEA  NOT NULL,
    receipts    BYTEA  NOT NULL,
    respondents BIGINT NOT NULL,
    smallest    BIGINT NOT NULL,
    dropped     BIGINT NOT NULL,
    counted     BIGINT NOT NULL,
    PRIMARY KEY (plan, instance, crowd)
);

-- A batch's tally, cut in parts of equal length: counts.go.
CREATE TABLE counts (
    plan     TEXT   NOT NULL,
    instance BIGINT NOT NULL,
    crowd    BIGINT NOT NULL,
    part     BIGINT NOT NULL,
    body     BYTEA  NOT NULL,
    PRIMARY KEY (plan, instance, crowd, part),
    FOREIGN KEY (plan, instance, crowd) REFERENCES batches (plan, instance, crowd)
);

-- From here on a plan takes no batch.
CREATE TABLE closings (
    plan   TEXT   NOT NULL PRIMARY KEY REFERENCES plans (name),
    closer TEXT   NOT NULL,
    closed BIGINT NOT NULL
);

CREATE TABLE verdicts (
    plan     TEXT   NOT NULL PRIMARY KEY REFERENCES closings (plan),
    released BIGINT NOT NULL CHECK (released IN (0, 1)),
    reason   TEXT   NOT NULL,
    decided  BIGINT NOT NULL
);

CREATE TABLE releases (
    plan   TEXT  NOT NULL REFERENCES verdicts (plan),
    format TEXT  NOT NULL,
    sha256 BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (plan, format)
);

-- +goose Down
DROP TABLE releases;
DROP TABLE verdicts;
DROP TABLE closings;
DROP TABLE counts;
DROP TABLE batches;
DROP TABLE spendings;
DROP TABLE plans;

-- What an aggregator keeps. One text for SQLite and PostgreSQL, as of ../00001_tables.sql,
-- and no table of its name, so that one database may hold both.

-- +goose Up
CREATE TABLE served (
    name   TEXT   NOT NULL PRIMARY KEY,
    signed BYTEA  NOT NULL,
    secret BYTEA  NOT NULL, -- under which respondents are known; empty once they are forgotten
    closed BIGINT NOT NULL  -- 1: no more reports are taken
);

-- Plans of which nothing is left: none is taken up again.
CREATE TABLE gone (name TEXT NOT NULL PRIMARY KEY);

CREATE TABLE revocations (
    name      TEXT  NOT NULL PRIMARY KEY,
    statement BYTEA NOT NULL
);

-- What devices sent to the leader.
CREATE TABLE reports (
    plan       TEXT   NOT NULL,
    respondent BYTEA  NOT NULL,
    id         BYTEA  NOT NULL,
    crowd      BIGINT NOT NULL,
    job        BIGINT NOT NULL, -- 0: none yet
    body       BYTEA  NOT NULL, -- empty once it is added
    PRIMARY KEY (plan, respondent)
);
CREATE UNIQUE INDEX reports_ids ON reports (plan, id);
CREATE INDEX reports_jobs ON reports (plan, crowd, job);

-- Names of reports and tokens that the helper has added: they count once.
CREATE TABLE spent (
    plan TEXT  NOT NULL,
    name BYTEA NOT NULL,
    PRIMARY KEY (plan, name)
);

-- The helper's answers, by what was asked.
CREATE TABLE answers (
    plan  TEXT  NOT NULL,
    asked BYTEA NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (plan, asked)
);

-- What was added up so far.
CREATE TABLE sums (
    plan  TEXT   NOT NULL,
    crowd BIGINT NOT NULL,
    body  BYTEA  NOT NULL,
    PRIMARY KEY (plan, crowd)
);

-- What leaves, and was written before it did: by crowd and step.
CREATE TABLE shares (
    plan  TEXT   NOT NULL,
    crowd BIGINT NOT NULL,
    step  TEXT   NOT NULL,
    body  BYTEA  NOT NULL,
    PRIMARY KEY (plan, crowd, step)
);

-- +goose Down
DROP TABLE shares;
DROP TABLE sums;
DROP TABLE answers;
DROP TABLE spent;
DROP TABLE reports;
DROP TABLE revocations;
DROP TABLE gone;
DROP TABLE served;

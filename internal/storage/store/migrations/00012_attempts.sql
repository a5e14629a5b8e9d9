-- Which attempt to deal a batch to shards stands, by its name, and until when it is its
-- dealer's alone. What another attempt wrote, or a worker counted of one, is left aside.

-- +goose Up
CREATE TABLE attempts (
    plan     TEXT   NOT NULL REFERENCES plans (name),
    instance BIGINT NOT NULL,
    crowd    BIGINT NOT NULL,
    sha256   BYTEA  NOT NULL,
    attempt  TEXT   NOT NULL,
    held     BIGINT NOT NULL,
    PRIMARY KEY (plan, instance, crowd, sha256)
);
ALTER TABLE shards ADD COLUMN attempt TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE shards DROP COLUMN attempt;
DROP TABLE attempts;

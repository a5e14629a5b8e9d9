-- A batch that is being counted by several processes: a row for each of its shards, which is
-- leased, and then has its tally. All go when the batch is counted.

-- +goose Up
CREATE TABLE shards (
    plan     TEXT   NOT NULL REFERENCES plans (name),
    instance BIGINT NOT NULL,
    crowd    BIGINT NOT NULL,
    shard    BIGINT NOT NULL,
    shards   BIGINT NOT NULL,
    sha256   BYTEA  NOT NULL,
    head     BYTEA  NOT NULL,
    leased   BIGINT NOT NULL,
    opened   BIGINT,
    dropped  BIGINT,
    body     BYTEA,
    crc      BIGINT,
    PRIMARY KEY (plan, instance, crowd, shard)
);

-- +goose Down
DROP TABLE shards;

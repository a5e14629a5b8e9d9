-- Nobody reads the head of a batch from the rows of its shards: each part has it.

-- +goose Up
ALTER TABLE shards DROP COLUMN head;

-- +goose Down
ALTER TABLE shards ADD COLUMN head BYTEA NOT NULL DEFAULT '';

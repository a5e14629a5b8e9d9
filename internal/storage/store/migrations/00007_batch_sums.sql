-- What SQLite does not see: a changed byte within the mark of a batch.

-- +goose Up
ALTER TABLE batches ADD COLUMN crc BIGINT;

-- +goose Down
ALTER TABLE batches DROP COLUMN crc;

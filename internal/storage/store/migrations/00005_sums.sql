-- What SQLite does not see: a changed byte within a tally.

-- +goose Up
ALTER TABLE counts ADD COLUMN crc BIGINT;

-- +goose Down
ALTER TABLE counts DROP COLUMN crc;

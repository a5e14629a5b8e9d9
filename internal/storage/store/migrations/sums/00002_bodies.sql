-- Where a body lies that is not in its row: from which byte of the plan's file on, how many
-- bytes, and their CRC-32C. No bytes: it is in the row, as PostgreSQL has all of them, or gone.

-- +goose Up
ALTER TABLE reports ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reports ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reports ADD COLUMN crc BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE reports DROP COLUMN place;
ALTER TABLE reports DROP COLUMN bytes;
ALTER TABLE reports DROP COLUMN crc;

-- The Gaussian that dominates what a plan costs, and for which neighbours; rows of
-- before have none, and dominated is empty.

-- +goose Up
ALTER TABLE spendings ADD COLUMN shift DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE spendings ADD COLUMN tail DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE spendings ADD COLUMN dominated TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE spendings DROP COLUMN shift;
ALTER TABLE spendings DROP COLUMN tail;
ALTER TABLE spendings DROP COLUMN dominated;

-- How many reports are in the sum of a crowd, and how many were refused: whoever asks how far a
-- crowd has come need not read its sum. With the CRC-32C of the sum, which no changed bit passes.

-- +goose Up
CREATE TABLE added (
    plan    TEXT   NOT NULL,
    crowd   BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    crc     BIGINT NOT NULL,
    PRIMARY KEY (plan, crowd)
);

-- +goose Down
DROP TABLE added;

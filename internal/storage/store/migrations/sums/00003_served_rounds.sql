-- Which plan a round of a study is: the first that came, for good.

-- +goose Up
CREATE TABLE served_rounds (
    study  TEXT   NOT NULL,
    number BIGINT NOT NULL,
    plan   TEXT   NOT NULL,
    PRIMARY KEY (study, number)
);

-- +goose Down
DROP TABLE served_rounds;

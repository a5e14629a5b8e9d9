package store

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

func (s *Store) openPostgres(dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil { // whose text holds the address
		return errors.New("store: the database URL cannot be read, or a file that it names: write postgres://user@host/database")
	}
	db := sql.OpenDB(connector{stdlib.GetConnector(*config)})
	db.SetMaxOpenConns(connections)
	s.kind, s.writer, s.reader = postgres, db, db
	return nil
}

// connector opens connections to PostgreSQL. Its errors show nothing of the address, of which any
// part may be the password.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("the PostgreSQL database cannot be reached: %s", unreached(err))
}

// unreached says why a connection did not come about, in words that the address is not in.
func unreached(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "28P01", "28000": // invalid_password, invalid_authorization_specification
			return "it does not let this user in: look at the user, the password and the server's rules (SQLSTATE " + e.Code + ")"
		case "3D000": // invalid_catalog_name
			return "the server has no database of this name (SQLSTATE 3D000)"
		}
		return "the server refuses (SQLSTATE " + e.Code + "), and says why in its log"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate does not hold: look at the host's name, and at sslrootcert"
	}
	return "look at the host, the port and sslmode in the address"
}

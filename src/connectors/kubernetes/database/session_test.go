package database

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// The table of docs/clients.md says what to do after an error.
func TestWhichErrorsAreFinal(t *testing.T) {
	for code, isFinal := range map[string]bool{"08006": false, "57P01": false, "57P03": false, "57014": false, "40001": false, "40P01": false,
		"53300": false, "53400": true, "58030": false, "55P03": false, "55000": true, "25006": false, "25001": true, "28P01": false, "3D000": false,
		"3F000": false, "42501": false, "42883": false, "42P01": false, "42704": true, "XX000": false, "22P02": true, "23505": true, "YQ001": true} {
		err := fmt.Errorf("it failed: %w", &pgconn.PgError{Code: code})
		if got := Refusal(err) != nil; got != isFinal {
			t.Errorf("%s: final %v", code, got)
		}
	}
	if Refusal(errors.New("the connection broke")) != nil || Refusal(nil) != nil {
		t.Error("an error without an SQLSTATE is final")
	}
}

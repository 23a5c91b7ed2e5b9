// Package event has the rows of yquota.container_event that the connector sends.
package event

import "time"

// Kinds of events.
const (
	Start  = "CONTAINER_START"
	Update = "CONTAINER_UPDATE"
	Finish = "CONTAINER_FINISH"
)

// Execution types of containers.
const (
	Guaranteed    = "GUARANTEED"
	Opportunistic = "OPPORTUNISTIC"
)

// Event is one row. An empty text is NULL, which an UPDATE reads as unchanged.
type Event struct {
	Kind          string     `json:"event"`
	ContainerID   string     `json:"container_id"`
	OccurredAt    time.Time  `json:"occurred_at"`
	Project       string     `json:"project,omitempty"`
	ApplicationID string     `json:"application_id,omitempty"`
	Username      string     `json:"username,omitempty"`
	Queue         string     `json:"queue,omitempty"`
	Node          string     `json:"node,omitempty"`
	Allocation    Allocation `json:"allocation,omitempty"`
	ExecutionType string     `json:"execution_type,omitempty"`
	ExitStatus    *int32     `json:"exit_status,omitempty"`
}

// Allocation is a JSON object of native amounts by resource type, with its keys in order. {} is an allocation of
// nothing.
type Allocation string

// MarshalJSON writes the object itself.
func (a Allocation) MarshalJSON() ([]byte, error) { return []byte(a), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Allocation) UnmarshalJSON(text []byte) error {
	*a = Allocation(text)
	return nil
}

// Now returns the present time, in the microseconds of the database.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

package sbpl

// A subject is what an operation acts on, and so what a request for it names
// and which filters its rules may have.
type subject int

const (
	nothing     subject = iota
	file                // a path
	service             // the name of a Mach service
	variable            // the name of a kernel variable
	process             // "self", "same-sandbox" or "others"
	family              // a socket domain such as AF_INET
	peer                // proto:address, the other end of a connection
	ownEnd              // proto:address, the own end of a connection
	anyEndpoint         // either
)

// root is the parent of the widest operations; its rule is (deny default).
const root = "default"

type operation struct {
	parent  string
	subject subject
}

// operations are all that are known. Those with a * stand for several and can
// be named by rules but not by requests.
var operations = map[string]operation{
	"file*":               {root, file},
	"file-ioctl":          {"file*", file},
	"file-link":           {"file*", file},
	"file-map-executable": {"file*", file},
	"file-read*":          {"file*", file},
	"file-read-data":      {"file-read*", file},
	"file-read-metadata":  {"file-read*", file},
	"file-read-xattr":     {"file-read*", file},
	"file-write*":         {"file*", file},
	"file-write-create":   {"file-write*", file},
	"file-write-data":     {"file-write*", file},
	"file-write-flags":    {"file-write*", file},
	"file-write-mode":     {"file-write*", file},
	"file-write-owner":    {"file-write*", file},
	"file-write-setugid":  {"file-write*", file},
	"file-write-times":    {"file-write*", file},
	"file-write-unlink":   {"file-write*", file},
	"file-write-xattr":    {"file-write*", file},

	"process*":                 {root, nothing},
	"process-exec*":            {"process*", file},
	"process-exec":             {"process-exec*", file},
	"process-exec-interpreter": {"process-exec*", file},
	"process-fork":             {"process*", nothing},
	"process-info*":            {"process*", process},
	"process-info-listpids":    {"process-info*", process},
	"process-info-pidinfo":     {"process-info*", process},
	"signal":                   {root, process},

	"sysctl*":      {root, variable},
	"sysctl-read":  {"sysctl*", variable},
	"sysctl-write": {"sysctl*", variable},

	"mach*":               {root, nothing},
	"mach-lookup":         {"mach*", service},
	"mach-register":       {"mach*", service},
	"mach-priv-task-port": {"mach*", process},
	"mach-task-name":      {"mach*", process},

	"network*":         {root, anyEndpoint},
	"network-bind":     {"network*", ownEnd},
	"network-inbound":  {"network*", ownEnd},
	"network-outbound": {"network*", peer},
	"system-socket":    {root, family},

	"appleevent-send":               {root, service},
	"distributed-notification-post": {root, service},
	"iokit-open":                    {root, service},
	"ipc-posix-sem":                 {root, service},
	"ipc-posix-shm":                 {root, service},
	"ipc-sysv-msg":                  {root, nothing},
	"ipc-sysv-sem":                  {root, nothing},
	"ipc-sysv-shm":                  {root, nothing},
	"job-creation":                  {root, nothing},
	"lsopen":                        {root, nothing},
	"pseudo-tty":                    {root, nothing},
	"system-mac-syscall":            {root, nothing},
	"user-preference-read":          {root, service},
	"user-preference-write":         {root, service},
}

// filters are all that are known, with the subjects that they apply to.
var filters = map[string][]subject{
	"literal":            {file},
	"subpath":            {file},
	"global-name":        {service},
	"sysctl-name-prefix": {variable},
	"target":             {process},
	"socket-domain":      {family},
	"remote":             {peer},
	"local":              {ownEnd},
}

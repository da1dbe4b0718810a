/**
 * What clients and services call their failures, as patterns over the signals of an error (error-signals.ts), tried in
 * this order. Patterns instead of lists of codes, because cloud SDKs vary the same few words (ThrottlingException,
 * RequestThrottled, ...) and patterns are smaller.
 */
import type { FailureKind } from './classification.ts'

/** A connection could not be made, or broke: Node, undici, axios, browsers, Deno, Bun, node:tls, DNS, drivers, mail. */
const NETWORK =
	'\\bE(CONN(RESET|REFUSED|ABORTED|ECTION)|NOTFOUND|PIPE|TIMEDOUT|AI_(AGAIN|FAIL)|SERVFAIL|REFUSED|DNS|ADDRNOTAVAIL|(HOST|NET)(UNREACH|DOWN))\\b|' +
	'connect ENOENT|UND_ERR_SOCKET|ERR_(NETWORK|STREAM_PREM)|socket hang up|(fetch|load) failed|failed to fetch|network ?(error|request|conn)|' +
	'^terminated$|error (sending request|reading a|in \\w+ stream)|connection.(is |was )?(closed|terminated|appears|error|lost)|' +
	"(unable to|could not) connect|fied hostname|secure (tls|conn)|been aborted|isn't writeable|^grpc 14$|^P10(01|17)$"

/** A status that makes a business code such as `invalid_timeout` permanent. */
const NOT_REJECTED = '(?![\\s\\S]*^http 4(?!08|25))'

/** Timeouts and aborts, locks, exhausted pools, a Redis server that cannot serve now, transient SQLSTATEs, other drivers. */
const TEMPORARY =
	`^\\w*(time_?d?_?out|abort|cancell?e|retriesper|_busy|_locked)\\w*$${NOT_REJECTED}|RequestTimeout|timed out|timeout ex(pir|ceeded)|read timeout|base.+ locked|` +
	'pool.+(exhaust|full|time)|(too many|number of) (clients|conn)|no connections av|queue limit r|^(LOADING|TRYAGAIN|BUSY|OOM|MISCONF|NOREPLICAS|\\w+DOWN|READONLY) |' +
	'^(08|5[3578])...$|^40(001|P01)$|^E(BUSY|AGAIN|[MN]FILE)$|^P(100[28]|20(24|28|34|37))$|^sqlite [56]$|^smtp 4|Retryable(Write)?Error|TransientTrans|' +
	'^code (NotWritableP|\\w+SteppedDown|ShutdownIn|WriteConf|Interrupted|MaxTimeMS)'

/** A name of gRPC, tRPC or MongoDB in its field. Firebase writes `functions/not-found`. */
const CODE = '^code (\\w+/)?'

/** The request itself is wrong: fetch wraps a bad URL in "fetch failed", and a missing function may be named networkError. */
const MISTAKE =
	'scheme$|unsupported.protocol|bad port|unexpected redirect|redirect count|^`url|(ERR|YAOKI)_(HTTP_|FR_)?(ASYNC|INVALID|BAD_OPT|TOO_MANY)|' +
	'^can\\S+ \\w+ prop|is not (a (func|cons)|itera|defined)|\\(eval|^insufficient_quota$'

/** SQLSTATEs of bad data, constraints, privileges, names and syntax; Prisma; certificates. All but codes that accompany a status. */
const REJECTED =
	'^((2[1238]|3[DF]|42)...|P(10(0[039]|1[0-6])|2(?!024|028|034|037)\\d{3})|' +
	'(\\w+_)?(CERT(IFICATE)?|CRL)(_\\w+)?|\\w+LEAF_SIGNATURE|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)$(?![\\s\\S]*^http)|' +
	'(self.signed|first|peer|issuer) cert|cert\\S+ (has exp|altn)'

/** Files. The socket of a server that is not running is a missing file too. */
const FILES =
	'^E(NOENT|ACCES|PERM|EXIST|NOT(DIR|EMPTY|SUP)|ISDIR|ROFS|NAMETOOLONG|LOOP|XDEV|INVAL|BADF|FBIG|NOSYS)\\b(?![\\s\\S]*connect ENOENT)'

/** Constraints, whatever their name contains, and other statements that a database rejects; rejected mail. */
const DRIVERS =
	'constraint fail|violates .+constraint|^SQLITE_(CONSTR|ERROR|READONLY|MIS|AUTH|RANGE|NOTADB|TOOBIG)|^sqlite (1|8|1[89]|2[01356])$|' +
	'^Sequelize\\w+Constr|^(Sequel|Prisma)\\w+ValidationE|^(code (1062|11000)|ER_(DUP|NO_DEF)\\w+)$|errno 1062|' +
	'^smtp 5|^E(N?O?AUTH2?|ENVELOPE|MESSAGE)$(?![\\s\\S]*^smtp 4)'

export const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
	// Rejections by the package's own policies (circuit, bulkhead, rate) and expired deadlines.
	['cancelled', new RegExp(`^YAOKI_[CBRD]|^grpc 1$|${CODE}CANCELL?ED$`, 'im')],
	['permanent', /^permanent$/m],
	// Failures that are permanent whatever else the text contains: a constraint may be named "throttled_key".
	['permanent', new RegExp(`${MISTAKE}|${REJECTED}|${FILES}|${DRIVERS}`, 'im')],
	// AWS, GCP, Azure, Slack; gRPC RESOURCE_EXHAUSTED; HTTP 429 and 503.
	[
		'throttled',
		new RegExp(
			'throttl(ed|ing)|too.?many.?requests|(Request|Bandwidth|Rate|^)LimitExceeded|rate.?limit(ed|Error)|ThroughputExc|SlowDown|ServerBusy|' +
				`PriorRequest|TransactionInP|^grpc 8$|(^http|status code) (429|503)|${CODE}(RESOURCE.EXHAUSTED|SERVICE_UNAVAILABLE)$`,
			'im',
		),
	],
	[
		'transient',
		new RegExp(
			`${NETWORK}|${TEMPORARY}|^retryable$|^grpc (2|4|1[03])$|(^http|status code) (408|425|5(?!01|05))|` +
				`${CODE}(UNAVAILABLE|DEADLINE.EXCEEDED|ABORTED|INTERNAL(_SERVER_ERROR)?|UNKNOWN|BAD_GATEWAY)$`,
			'im',
		),
	],
	// All other statuses, other Redis error replies, validation and programming errors.
	[
		'permanent',
		new RegExp(
			'^(grpc|http) \\d|status code \\d|^((Type|Reference|Syntax|Range|URI|Zod|Reply|\\w*Validation|Entity\\w*NotFound|SequelizeEmptyResult)Error|' +
				`document failed validation)$|${CODE}(INVALID.ARG|NOT.(FOUND|IMPL)|ALREADY.EX|PERMISSION.D|UN(AUTH|IMPL|SUPPORTED_|PROC)|OUT.OF.R|FAILED.PREC|` +
				'DATA.LOSS|PARSE_E|BAD(_REQ|Value)|PAY(MENT_REQ|LOAD_)|FORBIDDEN|METHOD_NOT|CONFLICT|PRECOND|CLIENT_CL|AuthenticationF)',
			'im',
		),
	],
]

export const NETWORK_FAILURE: RegExp = /* @__PURE__ */ new RegExp(NETWORK, 'im')

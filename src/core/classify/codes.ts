/**
 * What clients and services call their failures: one list of patterns over the signals of an error
 * (error-signals.ts), tried in this order. Patterns instead of lists of codes, because cloud SDKs vary the
 * same few words (ThrottlingException, RequestThrottled, ...) and patterns are smaller. They ignore case, and
 * are written in lower case because the rest of a bundle is too: it is a seventh smaller after compression.
 */
import type { FailureKind } from './classification.ts'

/** Failed or broken connections: Node, undici, axios, browsers, Deno, Bun, TLS, DNS, drivers, mail. */
const NETWORK =
	'\\be(conn(reset|refused|aborted|ection)|notfound|pipe|timedout|ai_(again|fail)|servfail|refused|dns|addrnotavail|(host|net)(unreach|down))\\b|' +
	'connect enoent|und_err_socket|err_(network|stream_prem)|socket hang up|(fetch|load) failed|failed to fetch|network ?(error|request|conn)|' +
	'^terminated$|error (sending request|reading a|in \\w+ stream)|connection.(is |was )?(closed|terminated|appears|error|lost)|' +
	"(unable to|could not) connect|fied hostname|secure (tls|conn)|been aborted|isn't writeable|^grpc 14$|^p10(01|17)$"

/** Timeouts, aborts, locks, exhausted pools, Redis that cannot serve now, transient SQLSTATEs, drivers. */
const TEMPORARY =
	// A status makes a business code such as `invalid_timeout` permanent.
	'^\\w*(time_?d?_?out|abort|cancell?e|retriesper|_busy|_locked)\\w*$(?![^]*^http 4(?!08|25))|requesttimeout|timed out|timeout ex(pir|ceeded)|read timeout|base.+ locked|' +
	'pool.+(exhaust|full|time)|(too many|number of) (clients|conn)|no connections av|queue limit r|^(loading|tryagain|busy|oom|misconf|noreplicas|\\w+down|readonly) |' +
	'^(08|5[3578])...$|^40(001|p01)$|^e(busy|again|[mn]file)$|^p(100[28]|20(24|28|34|37))$|^sqlite [56]$|^smtp 4|retryable(write)?error|transienttrans|transactionconf|^lock_timeout$|' +
	'^code (notwritablep|\\w+steppeddown|shutdownin|writeconf|interrupted|maxtimems)'

/**
 * The request or the program itself is wrong: fetch wraps a bad URL in "fetch failed", and a missing function
 * may be named networkError. Assertions, clones, body limits, compressed data and a proxy without credentials
 * too. Data that ends too early (Z_BUF_ERROR) may be complete the next time.
 */
const MISTAKE =
	'scheme$|(proxy response|tunnel .+) .?407|unsupported.protocol|bad port|unexpected redirect|redirect count|^`url|(err|yaoki)_(http_|fr_)?(async|invalid|bad_opt|too_many)|' +
	'^can\\S+ \\w+ prop|is not (a (func|cons)|itera|defined)|\\(eval|^insufficient_quota$|^(assertion|dataclone)e|max\\w+length(?! size of -)|^(z_[dn]|zstd_|err__)'

/**
 * SQLSTATEs of bad data, constraints, privileges, names and syntax; Prisma; modules; certificates. All but
 * codes that accompany a status, and MySQL's limits of a user, which have the SQLSTATE of a syntax error.
 */
const REJECTED =
	'^((2[1238]|3[df]|42)...|p(10(0[039]|1[0-6])|2(?!024|028|034|037)\\d{3})|' +
	'(err_)?module_not\\w+|err_\\w*(module|import|esm|path_not|file_ext)\\w*|(\\w+_)?(cert(ificate)?|crl)(_\\w+)?|\\w+leaf_signature|invalid_(ca|purpose)|hostname_mismatch)$(?![^]*^(http|code 12(03|26)$))|' +
	'(self.signed|first|peer|issuer) cert|cert\\S+ (has exp|altn)'

/** Files. The socket of a server that is not running is a missing file too. */
const FILES =
	'^e(noent|acces|perm|exist|not(dir|empty|sup)|isdir|rofs|nametoolong|loop|xdev|inval|badf|fbig|nosys)\\b(?![^]*connect enoent)'

/** Constraints and other statements that a database rejects; rejected mail. */
const DRIVERS =
	'constraint fail|violates .+constraint|^sqlite_(constr|error|readonly|mis|auth|range|notadb|toobig)|^sqlite (1|8|1[89]|2[01356])$|' +
	'^sequelize\\w+constr|^(sequel|prisma)\\w+validatione|^(code (1062|11000)|er_(dup|no_def)\\w+)$|errno 1062|' +
	'^smtp 5|^e(n?o?auth2?|envelope|message)$(?![^]*^smtp 4)'

/** A name of gRPC, tRPC or MongoDB in its field. Firebase writes `functions/not-found`. */
const CODE = '^code (\\w+/)?'

/** A status in its field, or in a message of axios and others, or of ws. */
const STATUS = '(^http|status code|server response:)'

const PATTERNS: readonly (readonly [FailureKind, string])[] = [
	// Rejections by the package's own policies (circuit, bulkhead, rate) and expired deadlines.
	['cancelled', `^yaoki_[cbrd]|^grpc 1$|${CODE}cancell?ed$`],
	['permanent', '^permanent$'],
	// Failures that are permanent whatever else the text contains: a constraint may be named "throttled_key".
	['permanent', `${MISTAKE}|${REJECTED}|${FILES}|${DRIVERS}`],
	// AWS, GCP, Azure, Slack; gRPC RESOURCE_EXHAUSTED; HTTP 429 and 503.
	[
		'throttled',
		'throttl(ed|ing)|too.?many.?requests|(request|bandwidth|rate|^)limitexceeded|rate.?limit(ed|error)|throughputexc|slowdown|serverbusy|' +
			`priorrequest|transactioninp|^idempot.+\nin-p|^grpc 8$|^code 12(03|26)$|${STATUS} (429|503)|${CODE}(resource.exhausted|service_unavailable)$`,
	],
	[
		'transient',
		`${NETWORK}|${TEMPORARY}|^retryable$|^grpc (2|4|1[03])$|${STATUS} (408|425|5(?!01|05))|` +
			`${CODE}(unavailable|deadline.exceeded|aborted|internal(_server_error)?|unknown|bad_gateway)$`,
	],
	// All other statuses, other Redis error replies, validation and programming errors.
	[
		'permanent',
		`^(grpc|http) \\d|status code \\d|server response: [45]|^((type|reference|syntax|range|uri|zod|reply|\\w*validation|entity\\w*notfound|sequelizeemptyresult|credentialsp\\w+)error|` +
			`document failed validation)$|^mongo[^]+^code 26$|${CODE}(invalid.arg|not.(found|impl)|already.ex|permission.d|un(auth|impl|supported_|proc)|out.of.r|failed.prec|` +
			'data.loss|parse_e|bad(_req|value)|pay(ment_req|load_)|forbidden|method_not|conflict|precond|client_cl|authenticationf)',
	],
]

const compile = (pattern: string): RegExp => new RegExp(pattern, 'im')

export const KINDS: readonly (readonly [FailureKind, RegExp])[] = /* @__PURE__ */ PATTERNS.map(
	([kind, pattern]) => [kind, compile(pattern)] as const,
)

export const NETWORK_FAILURE: RegExp = /* @__PURE__ */ compile(NETWORK)

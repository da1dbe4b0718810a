/**
 * What clients and services call their failures, as patterns over the signals of an error (error-signals.ts), tried in
 * this order. Patterns instead of lists of codes, because cloud SDKs vary the same few words (ThrottlingException,
 * RequestThrottled, ...) and patterns are smaller.
 */
import type { FailureKind } from './classification.ts'

/** A connection could not be made, or broke: Node, undici, axios, browsers, Deno, Bun, node:tls, pg, ioredis. */
const NETWORK =
	'\\bE(CONN(RESET|REFUSED|ABORTED)|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN|(HOST|NET)(UNREACH|DOWN))\\b|UND_ERR_SOCKET|' +
	'ERR_(NETWORK|STREAM_PREM)|socket hang up|(fetch|load) failed|failed to fetch|network ?(error|request|conn)|' +
	'^terminated$|error (sending request|reading a|in \\w+ stream)|connection (is |was )?(closed|terminated|appears|error)|' +
	"(unable to|could not) connect|fied hostname|secure (tls|conn)|been aborted|isn't writeable|^grpc 14$"

/** Timeouts and aborts, locks, exhausted pools, a Redis server that cannot serve now, transient SQLSTATEs. */
const TEMPORARY =
	'^\\w*(time_?d?_?out|abort|cancell?e|retriesper|_busy)\\w*$(?![\\s\\S]*^http 4(?!08|25))|RequestTimeout|timed out|timeout ex(pir|ceeded)|read timeout|base.+ locked|' +
	'pool.+(exhaust|full|time)|(too many|number of) (clients|conn)|^(LOADING|TRYAGAIN|BUSY|OOM|MISCONF|NOREPLICAS|\\w+DOWN|READONLY) |' +
	'^(08|5[3578])...$|^40(001|P01)$'

export const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
	// Rejections by the package's own policies (circuit, bulkhead, rate) and expired deadlines.
	['cancelled', /^YAOKI_[CBRD]|^grpc 1$/im],
	// Failures that are permanent whatever else the text contains: fetch wraps a bad URL in "fetch failed", a constraint may
	// be named "throttled_key", a missing function networkError. The SQLSTATEs are those of bad data, constraints,
	// privileges, names and syntax.
	[
		'permanent',
		/^permanent$|scheme$|unsupported.protocol|bad port|unexpected redirect|redirect count|^`url|(ERR|YAOKI)_(HTTP_|FR_)?(ASYNC|INVALID|BAD_OPT|TOO_MANY)|^can\S+ \w+ prop|is not (a (func|cons)|itera|defined)|\(eval|^(2[1238]|3[DF]|42)...$(?![\s\S]*^http)/im,
	],
	// AWS, GCP, Azure; gRPC RESOURCE_EXHAUSTED; HTTP 429 and 503.
	[
		'throttled',
		/throttl(ed|ing)|too ?many ?requests|(Request|Bandwidth|Rate|^)LimitExceeded|ThroughputExc|SlowDown|ServerBusy|PriorRequest|TransactionInP|^grpc 8$|(^http|status code) (429|503)/im,
	],
	[
		'transient',
		new RegExp(
			`${NETWORK}|${TEMPORARY}|^retryable$|^grpc (2|4|1[03])$|(^http|status code) (408|425|5(?!01|05))`,
			'im',
		),
	],
	// All other statuses, other Redis error replies, validation and programming errors.
	[
		'permanent',
		/^(grpc|http) \d|status code \d|^(Type|Reference|Syntax|Range|URI|Zod|Validation|Reply)Error$/im,
	],
]

export const NETWORK_FAILURE: RegExp = /* @__PURE__ */ new RegExp(NETWORK, 'im')

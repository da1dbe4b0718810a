/**
 * What the world's clients call their failures, as patterns over an error's clues (clues.ts), tried in this order. Patterns
 * and not lists: the clouds vary the same few words (ThrottlingException, RequestThrottled ...), and bytes count.
 */
import type { FailureKind } from './classification.ts'

/** A connection that did not come about, or broke: Node, undici, axios, browsers, Deno, Bun, node:tls, pg, ioredis. */
const NETWORK =
	'\\bE(CONN(RESET|REFUSED|ABORTED)|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN|(HOST|NET)(UNREACH|DOWN))\\b|UND_ERR_SOCKET|' +
	'ERR_(NETWORK|STREAM_PREM)|socket hang up|(fetch|load) failed|failed to fetch|network ?(error|request|conn)|' +
	'^terminated$|error (sending request|reading a|in \\w+ stream)|connection (is |was )?(closed|terminated|appears|error)|' +
	"(unable to|could not) connect|fied hostname|secure (tls|conn)|been aborted|isn't writeable|^grpc 14$"

/** Names of timeouts and aborts; locks; pools with nothing to give; a Redis that can not now; SQLSTATEs that pass. */
const PASSING =
	'^\\w*(time_?d?_?out|abort|cancell?e|retriesper|_busy)\\w*$(?![\\s\\S]*^http 4(?!08|25))|RequestTimeout|timed out|timeout ex(pir|ceeded)|read timeout|base.+ locked|' +
	'pool.+(exhaust|full|time)|(too many|number of) (clients|conn)|^(LOADING|TRYAGAIN|BUSY|OOM|MISCONF|NOREPLICAS|\\w+DOWN|READONLY) |' +
	'^(08|5[3578])...$|^40(001|P01)$'

export const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
	// The toolkit's own refusals (circuit, bulkhead, rate) and the end of a deadline.
	['cancelled', /^YAOKI_[CBRD]|^grpc 1$/im],
	// What can only fail again, whatever else is said: fetch says "fetch failed" around it, a broken constraint may be called
	// "throttled_key", a missing function networkError. SQLSTATEs are of bad data, constraints, rights, names and syntax.
	[
		'permanent',
		/^permanent$|scheme$|unsupported.protocol|bad port|unexpected redirect|redirect count|^`url|(ERR|YAOKI)_(HTTP_|FR_)?(ASYNC|INVALID|BAD_OPT|TOO_MANY)|^can\S+ \w+ prop|is not (a (func|cons)|itera|defined)|\(eval|^(2[1238]|3[DF]|42)...$(?![\s\S]*^http)/im,
	],
	// AWS, GCP, Azure.
	[
		'throttled',
		/throttl(ed|ing)|too ?many ?requests|(Request|Bandwidth|Rate|^)LimitExceeded|ThroughputExc|SlowDown|ServerBusy|PriorRequest|TransactionInP|^grpc 8$|(^http|status code) (429|503)/im,
	],
	[
		'transient',
		new RegExp(
			`${NETWORK}|${PASSING}|^retryable$|^grpc (2|4|1[03])$|(^http|status code) (408|425|5(?!01|05))`,
			'im',
		),
	],
	// Every other status; Redis's other refusals; programming errors.
	[
		'permanent',
		/^(grpc|http) \d|status code \d|^(Type|Reference|Syntax|Range|URI|Zod|Validation|Reply)Error$/im,
	],
]

export const NETWORK_FAILURE: RegExp = /* @__PURE__ */ new RegExp(NETWORK, 'im')

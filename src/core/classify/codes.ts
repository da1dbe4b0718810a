/**
 * What the world's clients call their failures, as patterns over an error's clues (clues.ts), tried in this order. Patterns
 * and not lists: the clouds vary the same few words (ThrottlingException, RequestThrottled ...), and bytes count.
 */
import type { FailureKind } from './classification.ts'

/** A connection that did not come about, or broke: Node, undici, axios, browsers, Deno, Bun, node:tls, pg, ioredis. */
const NETWORK =
	'\\bE(CONN(RESET|REFUSED|ABORTED)|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN|(HOST|NET)(UNREACH|DOWN))\\b|UND_ERR_SOCKET|' +
	'ERR_(NETWORK|STREAM_PREM)|socket hang up|fetch failed|failed to fetch|load failed|network ?(error|request|conn)|' +
	'^terminated$|error sending request|connection (is |was )?(closed|terminated|appears)|unable to connect|secure tls'

/** Names of timeouts and aborts; locks; pools with nothing to give; a Redis that is coming up; SQLSTATEs that pass. */
const PASSING =
	'^\\w*(time_?d?_?out|abort|cancell?e|retriesper|_busy)\\w*$|is locked|pool.+(exhaust|full|time)|trying to connect|' +
	'too many (clients|conn)|^(LOADING|TRYAGAIN|\\w+DOWN|READONLY) |^(08|53)...$|^57P0.$|^40(001|P01)$'

export const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
	// The toolkit's own refusals (circuit, bulkhead, rate) and the end of a deadline.
	['cancelled', /^YAOKI_[CBRD]|^grpc 1$/m],
	// AWS, GCP, Azure.
	[
		'throttled',
		/throttl|too ?many ?requests|(Request|Bandwidth|Rate|^)LimitExceeded|ThroughputExc|SlowDown|ServerBusy|PriorRequest|TransactionInP|^grpc 8$|^http (429|503)|status code (429|503)/im,
	],
	// What can only fail again, though a fetch says "fetch failed" around it.
	[
		'permanent',
		/^permanent$|unknown scheme|bad port|redirect count|ERR_(HTTP_)?(INVALID|UNSUPP|BAD_OPT|(FR_)?TOO_MANY)/m,
	],
	[
		'transient',
		new RegExp(
			`${NETWORK}|${PASSING}|^retryable$|^grpc (2|4|1[034])$|^http (408|425|5(?!01|05))|status code 5(?!01|05)`,
			'im',
		),
	],
	// Every other status; SQLSTATEs of bad data, broken constraints, missing rights and syntax; programming errors.
	[
		'permanent',
		/^grpc \d|^http|status code 4|^(22|23|28|42)...$|^(Type|Reference|Syntax|Range|URI|Zod|Validation)Error$|^YAOKI_INV/m,
	],
]

export const NETWORK_FAILURE: RegExp = /* @__PURE__ */ new RegExp(NETWORK, 'im')

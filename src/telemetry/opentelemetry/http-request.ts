/** The attributes of an HTTP request by the semantic conventions for HTTP spans and metrics. */
import { reduceUrls } from '../../core/events/error-facts.ts'
import type { HttpAttempt } from '../../http/request/http-attempt.ts'
import { errorTypeOf, statusOf } from './errors.ts'
import type { Ended } from './watch-result.ts'

type Attributes = { [name: string]: string | number }

const KNOWN_METHODS: ReadonlySet<string> = /* @__PURE__ */ new Set([
	'GET',
	'HEAD',
	'POST',
	'PUT',
	'DELETE',
	'CONNECT',
	'OPTIONS',
	'TRACE',
	'PATCH',
	'QUERY',
])
const OTHER_METHOD = '_OTHER'

/** Returns the method, or `_OTHER`: a method is a label, so it must have few values. */
export const methodOf = (method: string): string => (KNOWN_METHODS.has(method) ? method : OTHER_METHOD)

/** The name of the span of a request. A name with the path would have too many values. */
export const requestName = (method: string): string => (KNOWN_METHODS.has(method) ? method : 'HTTP')

/** The attributes of a span when the request starts. The URL has no credentials, no query and no fragment. */
export function requestAttributes(
	{ method, url }: HttpAttempt,
	server: ServerAddress,
	resendCount: number,
): Attributes {
	const known = methodOf(method)
	return {
		'http.request.method': known,
		...(known !== method && { 'http.request.method_original': method }),
		'url.full': reduceUrls(url),
		'server.address': server.address,
		'server.port': server.port,
		...(resendCount > 0 && { 'http.request.resend_count': resendCount }),
	}
}

export interface RequestResult {
	readonly status: number | undefined
	/** Undefined if the request succeeded. */
	readonly errorType: string | undefined
}

/** Returns status and error of a request. A status of 400 or more is an error of the client span. */
export function requestResult(ended: Ended): RequestResult {
	const isError = 'error' in ended
	const status = statusOf(isError ? ended.error : ended.value)
	if (status !== undefined) return { status, errorType: status >= 400 ? `${status}` : undefined }
	return { status, errorType: isError ? errorTypeOf(ended.error) : undefined }
}

/** The attributes of a request that are known when it has ended. */
export const resultAttributes = ({ status, errorType }: RequestResult): Attributes => ({
	...(status !== undefined && { 'http.response.status_code': status }),
	...(errorType !== undefined && { 'error.type': errorType }),
})

export interface ServerAddress {
	readonly address: string
	readonly port: number
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const MAX_ORIGINS = 1_000
const UNKNOWN: ServerAddress = { address: '_OTHER', port: 0 }

/** Host and port by origin, parsed once: parsing takes longer than the rest of a request's span. */
export class ServerAddresses {
	readonly #known = new Map<string, ServerAddress>()

	of(origin: string): ServerAddress {
		const known = this.#known.get(origin)
		if (known) return known
		const address = parse(origin)
		if (this.#known.size < MAX_ORIGINS) this.#known.set(origin, address)
		return address
	}
}

/** Parses the key of a call: an origin, which a space and the key of `circuitBreakerKey` may follow. */
function parse(key: string): ServerAddress {
	const [origin = key] = key.split(' ', 1)
	if (!URL.canParse(origin)) return UNKNOWN
	const { protocol, hostname, port } = new URL(origin)
	return {
		// An IPv6 address has brackets in URLs only.
		address: hostname.replace(/^\[(.*)\]$/, '$1'),
		port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
	}
}

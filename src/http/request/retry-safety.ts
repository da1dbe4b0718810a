/**
 * Decides whether a request certainly never reached the server, so that even a POST can be sent again. Most errors do not show this;
 * then a request is retried only if executing it twice is the same as once: by its method or its idempotency key. The messages that
 * are matched here come from runtimes that provide the information nowhere else; the package's own errors are never matched by text.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { randomUuid } from '../../core/runtime/random-uuid.ts'
import { requestHeader } from '../headers/request-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { PreparedRequest } from '../transport/prepared-request.ts'
import { HttpStatusError } from './status-error.ts'

/**
 * No connection was established, or a proxy did not establish it (CONNECT), so nothing was sent: codes of Node, undici and Bun. Deno, and undici for
 * the response of a proxy, have only a message.
 */
const NOT_CONNECTED =
	/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_(CONNECT_TIMEOUT|PRX_\w+)|ERR_PROXY_TUNNEL|ConnectionRefused|FailedToOpenSocket)$|client error \(Connect\)|when HTTP Tunneling$/
/** The same while connecting, or without a system call. Of an open connection it proves nothing. */
const UNREACHABLE = /^E(HOST|NET)(UNREACH|DOWN)$/
/** HTTP/2: the server states that it has not processed the stream. Node has the code only in the message. */
const STREAM_REFUSED = /REFUSED_STREAM/
/**
 * HTTP/2: the server goes away, and its last processed stream is a lower one. undici 8 uses this message for such streams only. Early
 * versions used it, with the same code, also for streams that may have been processed; their errors do not have the symbol.
 */
const GOAWAY = /^HTTP\/2: "GOAWAY" frame/
const UNDICI_INFO_ERROR = Symbol.for('undici.error.UND_ERR_INFO')
/** The failed system call. Before the connection exists, nothing was sent. */
const CONNECT_SYSCALL = /^(connect|getaddrinfo)$/

/** How many errors are examined, as in `classify`: causes and parts may form cycles, or branch without end. */
const MAX_ERRORS = 99

/** Returns true if the server has certainly not processed the request that failed with this error. Without redirects: a redirect is a response. */
export function isUnprocessed(error: unknown): boolean {
	// Grows while it is iterated: several addresses were tried, and each failure must prove it.
	const failures: unknown[] = [error]
	let examined = 0
	for (const first of failures) {
		// Misdirected Request: this server is not responsible for the origin.
		if (first instanceof HttpStatusError) {
			if (first.statusCode !== 421) return false
			continue
		}
		for (let failure = first; ; failure = safeGet(failure, 'cause')) {
			if (!failure || ++examined > MAX_ERRORS) return false
			const parts = safeGet(failure, 'errors')
			// Before its own code: that of an AggregateError is the code of one part.
			if (Array.isArray(parts) && parts.length > 0) {
				if (parts.length > MAX_ERRORS) return false
				failures.push(...parts)
				break
			}
			if (isProof(failure)) break
		}
	}
	return true
}

/** Returns true if the error itself shows that nothing was processed. */
function isProof(failure: unknown): boolean {
	const code = getText(failure, 'code')
	const message = getText(failure, 'message')
	const syscall = getText(failure, 'syscall')
	return (
		CONNECT_SYSCALL.test(syscall) ||
		(UNREACHABLE.test(code) && !syscall) ||
		NOT_CONNECTED.test(code) ||
		NOT_CONNECTED.test(message) ||
		STREAM_REFUSED.test(code) ||
		STREAM_REFUSED.test(message) ||
		(GOAWAY.test(message) && UNDICI_INFO_ERROR in Object(failure))
	)
}

function getText(error: unknown, name: string): string {
	const value = safeGet(error, name)
	return typeof value === 'string' ? value : ''
}

/** Returns the caller's idempotency key, or a new one for a POST or PATCH if `idempotency` is `'auto'`. */
export function idempotencyKeyOf(
	{ method, headers }: PreparedRequest,
	{ idempotencyKey }: RequestOptions,
	{ idempotency, idempotencyHeader }: HttpSettings,
): { readonly value: string; readonly isAdded: boolean } | undefined {
	const written = requestHeader(headers, idempotencyHeader)
	// An empty header prevents a new key and does not help the server.
	if (written !== null) return written === '' ? undefined : { value: written, isAdded: false }
	if (idempotencyKey !== undefined) return { value: idempotencyKey, isAdded: true }
	if (idempotency === 'manual' || (method !== 'POST' && method !== 'PATCH')) return undefined
	return { value: randomUuid(), isAdded: true }
}

/**
 * Decides whether a request certainly never reached the server, so that even a POST can be sent again. Most errors do not show this;
 * then a request is retried only if executing it twice is the same as once: by its method or its idempotency key. The messages that
 * are matched here come from runtimes that provide the information nowhere else; the package's own errors are never matched by text.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { HttpStatusError } from './status-error.ts'

/** No connection was established, so nothing was sent: codes of Node, undici and Bun; Deno has only a message. */
const NOT_CONNECTED =
	/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$|client error \(Connect\)/
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

/** Limits the walk through nested causes. */
const MAX_DEPTH = 9

/** Returns true if the server has certainly not processed the request that failed with this error. Without redirects: a redirect is a response. */
export function isUnprocessed(error: unknown): boolean {
	// Misdirected Request: this server is not responsible for the origin.
	if (error instanceof HttpStatusError) return error.statusCode === 421
	let failure = error
	for (let depth = 0; depth < MAX_DEPTH && failure; depth++) {
		const errors = safeGet(failure, 'errors')
		// Several addresses were tried; each failure must prove it.
		if (Array.isArray(errors) && errors.length > 0) return errors.every(isUnprocessed)
		const code = getText(failure, 'code')
		const message = getText(failure, 'message')
		const syscall = getText(failure, 'syscall')
		if (CONNECT_SYSCALL.test(syscall) || (UNREACHABLE.test(code) && !syscall)) return true
		if (NOT_CONNECTED.test(code) || NOT_CONNECTED.test(message)) return true
		if (STREAM_REFUSED.test(code) || STREAM_REFUSED.test(message)) return true
		if (GOAWAY.test(message) && UNDICI_INFO_ERROR in Object(failure)) return true
		failure = safeGet(failure, 'cause')
	}
	return false
}

function getText(error: unknown, name: string): string {
	const value = safeGet(error, name)
	return typeof value === 'string' ? value : ''
}

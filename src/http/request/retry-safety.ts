/**
 * Whether a request may be sent again. A failure mostly does not tell whether the server has done the work, so a request is
 * repeated only if doing it twice is the same as doing it once: by its method, by a key that lets the server recognise it, or
 * because it certainly never got there.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { isProcessed } from '../transport/redirect.ts'
import { HttpStatusError } from './status-error.ts'

/** No connection came about, so no byte of the request was sent: Node and undici, Bun, Deno. */
const NOT_CONNECTED =
	/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$|client error \(Connect\)/
/** The same if it was said while connecting, or of nothing in particular: a network may go away under a connection, too. */
const UNREACHABLE = /^E(HOST|NET)(UNREACH|DOWN)$/
/** HTTP/2: the server says itself that it has not looked at this stream. */
const NOT_PROCESSED = /REFUSED_STREAM/
/**
 * HTTP/2: the server goes, and its last stream is a lower one than this. Of undici's versions, 8 says so in these words of such streams
 * only. Early versions used them, with the same code, of streams that may have been processed; their errors bear no mark.
 */
const GONE_BEFORE = /^HTTP\/2: "GOAWAY" frame/
const MARK_OF_INFO = Symbol.for('undici.error.UND_ERR_INFO')
/** What a program was doing when a system call failed. Of a connection that is not there yet nothing was sent. */
const CONNECTING = /^(connect|getaddrinfo)$/

/** Errors nest; deeper than this nobody has seen one. */
const DEEPEST = 9

/** Is it certain that the server has not processed the request that failed like this? */
export function isUnprocessed(error: unknown): boolean {
	// Misdirected: whoever answered is not responsible for it.
	if (error instanceof HttpStatusError) return error.statusCode === 421 && !error.response.redirected
	if (isProcessed(error) || wasRedirected(error)) return false
	let failure = error
	for (let depth = 0; depth < DEEPEST && failure; depth++) {
		const errors = safeGet(failure, 'errors')
		// Several addresses were tried, and each of them has to be certain.
		if (Array.isArray(errors) && errors.length > 0) return errors.every(isUnprocessed)
		const syscall = text(failure, 'syscall')
		if (CONNECTING.test(syscall)) return true
		if (UNREACHABLE.test(text(failure, 'code')) && !syscall) return true
		const clues = `${text(failure, 'code')}\n${text(failure, 'message')}`
		if (NOT_CONNECTED.test(text(failure, 'code')) || NOT_CONNECTED.test(text(failure, 'message'))) return true
		if (NOT_PROCESSED.test(clues)) return true
		if (GONE_BEFORE.test(text(failure, 'message')) && MARK_OF_INFO in Object(failure)) return true
		failure = safeGet(failure, 'cause')
	}
	return false
}

/** axios over `node:http` counts the redirects that it has followed. */
const wasRedirected = (error: unknown): boolean => {
	const count = safeGet(safeGet(error, 'request'), '_redirectCount')
	return typeof count === 'number' && count > 0
}

function text(error: unknown, name: string): string {
	const value = safeGet(error, name)
	return typeof value === 'string' ? value : ''
}

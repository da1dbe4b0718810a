/**
 * What real clients throw for each fault, as found by experiment and kept true by client-errors.*.test.ts. undici's `request` throws the
 * error itself; both `fetch`es wrap it as the `cause` of a TypeError, "fetch failed" before the head of the response and "terminated" after it.
 * Versions: Node 24.21 (its fetch is undici 7.29 inside) and undici 8.12.
 *
 * Not in the table, since they take real time or a signal: undici's own timeouts (HeadersTimeoutError UND_ERR_HEADERS_TIMEOUT,
 * BodyTimeoutError UND_ERR_BODY_TIMEOUT, ConnectTimeoutError UND_ERR_CONNECT_TIMEOUT), and an endless head (HeadersOverflowError
 * UND_ERR_HEADERS_OVERFLOW at 16 kB). A fetch whose signal is aborted rejects with the signal's reason, not wrapped.
 */
import { constants } from 'node:http2'
import { chunkedGarbage, fin, malformedHead, reset, type Step, wrongLength } from './fault-server.ts'
import {
	answerStream,
	cutSession,
	goAway,
	type Http2Step,
	refuseStream,
	resetStream,
} from './http2-server.ts'
import type { Script } from './script.ts'

export interface Thrown {
	readonly name: string
	/** HTTPParserError has none. */
	readonly code: string | undefined
	readonly message: RegExp
}

export interface Http1Row {
	readonly step: Step
	/** `head`: no response; `body`: a response whose body fails. */
	readonly at: 'head' | 'body'
	readonly thrown: Thrown
}

/** `connect ECONNRESET` where the reset overtakes the client's own connect. The code is the same, and so is `errno`. */
const RESET: Thrown = { name: 'Error', code: 'ECONNRESET', message: /^(read|connect) ECONNRESET|^write E/ }
const CLOSED: Thrown = { name: 'SocketError', code: 'UND_ERR_SOCKET', message: /^other side closed$/ }
const unparsable = (why: string): Thrown => ({
	name: 'HTTPParserError',
	code: undefined,
	message: new RegExp(`^Response does not match the HTTP/1.1 protocol \\(${why}\\)$`),
})

/** The same for Node's fetch, undici's fetch and undici's request. */
export const HTTP1_ERRORS: Readonly<Record<string, Http1Row>> = {
	'reset on accept': { step: reset('accept'), at: 'head', thrown: RESET },
	'closed on accept': { step: fin('accept'), at: 'head', thrown: CLOSED },
	'reset after the request head': { step: reset('request-head'), at: 'head', thrown: RESET },
	'closed after the request head': { step: fin('request-head'), at: 'head', thrown: CLOSED },
	'reset after the response head': { step: reset('response-head'), at: 'body', thrown: RESET },
	'closed after the response head': { step: fin('response-head'), at: 'body', thrown: CLOSED },
	'reset in the body': { step: reset('body'), at: 'body', thrown: RESET },
	'closed in the body': { step: fin('body'), at: 'body', thrown: CLOSED },
	'closed in a chunked body': { step: fin('body', { headers: {} }), at: 'body', thrown: CLOSED },
	'content-length too great': { step: wrongLength(), at: 'body', thrown: CLOSED },
	'chunked garbage': {
		step: chunkedGarbage(),
		at: 'body',
		thrown: unparsable('Invalid character in chunk size'),
	},
	'malformed head': { step: malformedHead(), at: 'head', thrown: unparsable('Invalid major version') },
}

/** Faults without a server that speaks HTTP. */
export const CONNECT_ERRORS: Readonly<Record<'refused' | 'tlsReset' | 'tlsFin', Thrown>> = {
	refused: { name: 'Error', code: 'ECONNREFUSED', message: /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/ },
	// Indistinguishable from a reset after the request was read.
	tlsReset: { name: 'Error', code: 'ECONNRESET', message: /^read ECONNRESET$/ },
	// No errno and no syscall.
	tlsFin: {
		name: 'Error',
		code: 'ECONNRESET',
		message: /^Client network socket disconnected before secure TLS/,
	},
}

export interface Http2Row {
	readonly script: Script<Http2Step>
	readonly at: 'head' | 'body'
	/** `fine`: the client got its answer after all. */
	readonly thrown: Thrown | 'fine'
	/** How many streams the server saw for one call without a body: undici 8 itself sends once more what was certainly not processed. */
	readonly streams: number
	/** Node's own undici 7 with `allowH2`, which never sends again. */
	readonly node: Thrown | 'fine'
}

const OK = answerStream({ body: 'fine' })
const streamClosed = (code: string): Thrown => ({
	name: 'Error',
	code: 'ERR_HTTP2_STREAM_ERROR',
	message: new RegExp(`^Stream closed with error code NGHTTP2_${code}$`),
})
const goneAway = (name: string, code: string, number: number): Thrown => ({
	name,
	code,
	message: new RegExp(`^HTTP/2: "GOAWAY" frame received with code ${number}$`),
})
const REFUSED = streamClosed('REFUSED_STREAM')
const INTERNAL = streamClosed('INTERNAL_ERROR')
const CANCELLED: Thrown = { name: 'InformationalError', code: 'UND_ERR_INFO', message: /^HTTP\/2: stream / }
const AWAY = goneAway('InformationalError', 'UND_ERR_INFO', 0)
const AWAY_BEFORE_8 = goneAway('SocketError', 'UND_ERR_SOCKET', 0)
const AWAY_FAILING = goneAway('SocketError', 'UND_ERR_SOCKET', 2)
const SESSION: Thrown = {
	name: 'Error',
	code: 'ERR_HTTP2_SESSION_ERROR',
	message: /^Session closed with error code 2$/,
}
const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL } = constants
const failing = (covers: boolean) => goAway({ covers, code: NGHTTP2_INTERNAL_ERROR })
const cancelled = resetStream(NGHTTP2_CANCEL)
const halfway = resetStream(NGHTTP2_INTERNAL_ERROR, { inBody: true })

/**
 * Over TLS, on the first stream of a connection. "Certain" is a request that the server says it never processed. In undici 8 the message
 * about GOAWAY is such a certainty; in undici 7 the same words also come for streams that may have been processed.
 * A body sends again in `request` if it is a string or bytes; in `fetch` any body keeps undici from doing so.
 */
export const HTTP2_ERRORS: Readonly<Record<string, Http2Row>> = {
	'REFUSED_STREAM once, certain': {
		script: [refuseStream(), OK],
		at: 'head',
		thrown: 'fine',
		streams: 2,
		node: REFUSED,
	},
	'REFUSED_STREAM, certain': {
		script: refuseStream(),
		at: 'head',
		thrown: REFUSED,
		streams: 2,
		node: REFUSED,
	},
	'RST_STREAM INTERNAL_ERROR': {
		script: resetStream(NGHTTP2_INTERNAL_ERROR),
		at: 'head',
		thrown: INTERNAL,
		streams: 1,
		node: INTERNAL,
	},
	'RST_STREAM CANCEL': { script: cancelled, at: 'head', thrown: CANCELLED, streams: 1, node: CANCELLED },
	'RST_STREAM in the body': { script: halfway, at: 'body', thrown: INTERNAL, streams: 1, node: INTERNAL },
	'GOAWAY below the stream once, certain': {
		script: [goAway({ covers: false }), OK],
		at: 'head',
		thrown: 'fine',
		streams: 2,
		node: AWAY_BEFORE_8,
	},
	'GOAWAY below the stream, certain': {
		script: goAway({ covers: false }),
		at: 'head',
		thrown: AWAY,
		streams: 2,
		node: AWAY_BEFORE_8,
	},
	'GOAWAY INTERNAL_ERROR below the stream, certain': {
		script: failing(false),
		at: 'head',
		thrown: AWAY_FAILING,
		streams: 2,
		node: AWAY_FAILING,
	},
	'GOAWAY in good form, then the answer': {
		script: goAway({ covers: true, next: 'answer' }),
		at: 'head',
		thrown: 'fine',
		streams: 1,
		node: AWAY_BEFORE_8,
	},
	'GOAWAY in good form, then closed unanswered': {
		script: goAway({ covers: true, next: 'fin' }),
		at: 'head',
		thrown: CLOSED,
		streams: 1,
		node: AWAY_BEFORE_8,
	},
	'GOAWAY INTERNAL_ERROR with the stream': {
		script: failing(true),
		at: 'head',
		thrown: SESSION,
		streams: 1,
		node: AWAY_FAILING,
	},
	'connection closed': { script: cutSession('fin'), at: 'head', thrown: CLOSED, streams: 1, node: CLOSED },
}

/**
 * A faulty gRPC server on raw HTTP/2: per stream, in order, a list of actions. It exists for what no gRPC library lets a server do:
 * refuse and reset streams in each phase, GOAWAY in the middle of a stream, broken trailers.
 *
 * @example
 * await using server = await startFaultyServer([stream(refuse()), stream(headers(), message({ text: 'a' }), trailers(0))])
 * const client = useUsersClient(server.address)
 */
import { constants } from 'node:http2'
import { Http2FaultServer } from '../../http/faults/http2-server.ts'
import {
	frame,
	GOAWAY,
	type Http2Exchange,
	type Http2Step,
	RST_STREAM,
} from '../../http/faults/http2-steps.ts'
import type { Script } from '../../http/faults/script.ts'
import type { Pairs } from './server-steps.ts'
import { type ItemInit, usersMethods } from './users.ts'

export class FaultyServer extends Http2FaultServer {
	constructor(script: Script<Http2Step>) {
		super(script, undefined)
	}

	/** `127.0.0.1:port` */
	get address(): string {
		return this.origin.slice('http://'.length)
	}
}

/** Starts the server. `requested(n)` and `aborted(n)` wait for streams; `requests` has their headers, with `grpc-timeout`. */
export function startFaultyServer(script: Script<Http2Step>): Promise<FaultyServer> {
	return new FaultyServer(script).listen()
}

/** One action on a stream. Returns a promise if the next action must wait. */
export type Action = (exchange: Http2Exchange) => unknown

/** Plays these actions on a stream. If the last one does not end the stream, it stays open. */
export function stream(...actions: readonly Action[]): Http2Step {
	return {
		async play(exchange) {
			for (const action of actions) await action(exchange)
		},
	}
}

/** Waits until the client has half-closed. */
export const halfClose = (): Action => (exchange) => exchange.bodyArrived

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' }

/** Sends response headers. */
export const headers =
	(pairs: Pairs = {}): Action =>
	(exchange) =>
		exchange.stream.respond({ ...HEADERS, ...pairs }, { waitForTrailers: true })

/** Sends a message. Resolves when the operating system has accepted it. */
export const message =
	(item: ItemInit): Action =>
	({ stream: http2 }) =>
		new Promise((resolve) => {
			const body = usersMethods.Get.responseSerialize(item)
			const prefix = Buffer.alloc(5)
			prefix.writeUInt32BE(body.length, 1)
			http2.write(Buffer.concat([prefix, body]), resolve)
		})

/** Ends a response that has headers with this status. */
export const trailers =
	(code: number | string, pairs: Pairs = {}): Action =>
	({ stream: http2, finish }) => {
		http2.once('wantTrailers', () => {
			finish()
			http2.sendTrailers({ 'grpc-status': String(code), ...pairs })
		})
		http2.end()
	}

/** Ends the stream with a trailers-only response. An unparseable pushback is `{ 'grpc-retry-pushback-ms': 'soon' }`. */
export const trailersOnly =
	(code: number | string, pairs: Pairs = {}): Action =>
	({ stream: http2, finish }) => {
		finish()
		http2.respond({ ...HEADERS, 'grpc-status': String(code), ...pairs }, { endStream: true })
	}

/** Sends RST_STREAM with this code, in whatever phase the stream is. Default CANCEL. */
export const reset =
	(code: number = constants.NGHTTP2_CANCEL): Action =>
	({ stream: http2, finish, sendRaw }) => {
		finish()
		return sendRaw(frame(RST_STREAM, http2.id ?? 0, code))
	}

/** Reports that the stream was not processed. */
export const refuse = (): Action => reset(constants.NGHTTP2_REFUSED_STREAM)

/**
 * Sends GOAWAY. `lastStream`: the last stream that the server may have processed; `'this'` covers this stream, `'previous'` reports that
 * this stream was certainly not processed.
 */
export const goAway =
	(lastStream: number | 'this' | 'previous', code: number = constants.NGHTTP2_NO_ERROR): Action =>
	({ stream: { id = 0 }, sendRaw }) => {
		const last = lastStream === 'this' ? id : lastStream === 'previous' ? Math.max(0, id - 2) : lastStream
		return sendRaw(frame(GOAWAY, 0, last, code))
	}

/** Closes the connection with all its streams. */
export const closeSocket =
	(how: 'fin' | 'reset' = 'reset'): Action =>
	({ finish, cut }) => {
		finish()
		cut(how)
	}

/**
 * What the HTTP/2 server can do with a stream. GOAWAY and RST_STREAM are written by hand: Node's `goaway` replaces a last stream of 0 by
 * the last one it saw, though "none of your streams was processed" is the case that matters most, and its `close` ends a body that has
 * begun in good form before it resets the stream.
 */
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { SeenRequest } from './ledger.ts'
import type { Answer } from './steps.ts'

export interface Http2Exchange {
	readonly request: SeenRequest
	readonly stream: ServerHttp2Stream
	/** Resolves when the whole body of the request is there, or the stream is closed. */
	readonly bodyArrived: Promise<void>
	/** The step is done: a later disconnect of the client is not an abort. */
	finish(): void
	/** Sends bytes that bypass the session. Resolves when the operating system has accepted them. */
	sendRaw(bytes: Uint8Array): Promise<void>
	/** Ends the connection with all its streams. */
	cut(how: 'fin' | 'reset'): void
}

export interface Http2Step {
	play(exchange: Http2Exchange): unknown
}

/** Sends the given response. */
export function answerStream(options: Omit<Answer, 'informational' | 'early'> = {}): Http2Step {
	const { status = 200, headers = {}, body = '' } = options
	return {
		async play({ request, stream, bodyArrived }) {
			await bodyArrived
			await options.after
			if (stream.destroyed) return
			stream.respond({ ...headers, ':status': status })
			stream.end(body, () => {
				request.bytesWritten = Buffer.byteLength(body)
			})
		},
	}
}

/** Never responds. */
export function hangStream(): Http2Step {
	return { play: () => {} }
}

/** Closes the stream with a code (RST_STREAM), immediately or after a head and half a body. */
export function resetStream(code: number, { inBody = false } = {}): Http2Step {
	return {
		async play({ stream, finish, sendRaw }) {
			if (inBody) {
				stream.respond({ ':status': 200 })
				await new Promise((resolve) => stream.write('half of it', resolve))
			}
			finish()
			await sendRaw(frame(RST_STREAM, stream.id ?? 0, code))
		},
	}
}

/** Reports that the stream was not processed and can be sent again. */
export function refuseStream(): Http2Step {
	return resetStream(constants.NGHTTP2_REFUSED_STREAM)
}

export interface GoAway {
	/** Whether the GOAWAY says that this stream may have been processed. False: certainly not. */
	readonly covers: boolean
	/** Default NO_ERROR: a graceful shutdown. */
	readonly code?: number
	/** What follows the frame: nothing (default), the response of the stream, or the end of the connection. */
	readonly next?: 'nothing' | 'answer' | 'fin' | 'reset'
}

/** Sends a GOAWAY when the request has been read. */
export function goAway({ covers, code = constants.NGHTTP2_NO_ERROR, next = 'nothing' }: GoAway): Http2Step {
	return {
		async play(exchange) {
			const { stream, bodyArrived, finish, cut } = exchange
			await bodyArrived
			const last = covers ? (stream.id ?? 0) : Math.max(0, (stream.id ?? 0) - 2)
			await exchange.sendRaw(frame(GOAWAY, 0, last, code))
			if (next === 'answer') return await answerStream({ body: 'the last one' }).play(exchange)
			finish()
			return next === 'nothing' ? undefined : cut(next)
		},
	}
}

export interface Cut {
	/**
	 * Whether the connection ends when the head has been read. Then a body may be on its way, and undici 8 may not notice a reset: its fetch does
	 * not settle. Default: when the whole request has been read.
	 */
	readonly afterHead?: boolean
}

/** Ends the connection with all its streams. */
export function cutSession(how: 'fin' | 'reset', { afterHead = false }: Cut = {}): Http2Step {
	return {
		async play({ bodyArrived, finish, cut }) {
			if (!afterHead) await bodyArrived
			finish()
			cut(how)
		},
	}
}

export const RST_STREAM = 3
export const GOAWAY = 7

/** A frame without flags: length (3 bytes), type, flags, stream, and numbers of 4 bytes as payload. */
export function frame(type: number, stream: number, ...payload: readonly number[]): Buffer {
	const words = [stream, ...payload]
	const bytes = Buffer.alloc(5 + 4 * words.length)
	bytes.writeUIntBE(4 * payload.length, 0, 3)
	bytes.writeUInt8(type, 3)
	for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, 5 + 4 * index)
	return bytes
}
